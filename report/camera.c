/* camera.c: the position of the eye, and the projection of points.

   The camera is a long lens: with z the depth of a point in front of the eye, the point projects to

       x = width / 2 + focal (p - eye) . right / z,      y = height / 2 - focal (p - eye) . up / z,

   and focal is chosen so that the view's sphere just touches the shorter side: the cone of the sphere has the half
   angle asin(radius / distance). */

#include "report/raster.h"
#include "rig/maths.h"

static const double DEGREE = 3.14159265358979323846 / 180;
static const double LENS = 20;     /* degrees, if the view sets no distance */
static const double MARGIN = 1.03; /* around the framed points */

pelt_view pelt_view_fit(const float *positions, uint32_t vertex_count, double azimuth, double elevation) {
    pelt_view view = {.azimuth = azimuth, .elevation = elevation};
    double low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-INFINITY, -INFINITY, -INFINITY}, square = 0;
    for (size_t v = 0; v < vertex_count; v++)
        for (int i = 0; i < 3 && finite3(positions + 3 * v); i++) {
            low[i] = fmin(low[i], positions[3 * v + (size_t)i]);
            high[i] = fmax(high[i], positions[3 * v + (size_t)i]);
        }
    for (int i = 0; i < 3; i++) view.center[i] = low[i] <= high[i] ? (low[i] + high[i]) / 2 : 0;
    for (size_t v = 0; v < vertex_count; v++) {
        double away[3];
        for (int i = 0; i < 3; i++) away[i] = positions[3 * v + (size_t)i] - view.center[i];
        if (finite3(positions + 3 * v)) square = fmax(square, pelt_dot(away, away));
    }
    view.radius = square > 0 ? MARGIN * sqrt(square) : 1;
    return view;
}

double pelt_view_distance(const pelt_view *view) {
    double nearest = 1.01 * view->radius; /* an eye inside the sphere could not frame it */
    if (view->distance > 0) return fmax(view->distance, nearest);
    return view->radius / sin(LENS / 2 * DEGREE);
}

bool camera_make(const pelt_view *view, uint32_t width, uint32_t height, camera *out) {
    double a = view->azimuth * DEGREE, e = view->elevation * DEGREE, distance = pelt_view_distance(view);
    if (!(view->radius > 0) || !isfinite(a + e + distance)) return false;
    *out = (camera){.right = {cos(a), 0, -sin(a)},
                    .up = {-sin(a) * sin(e), cos(e), -cos(a) * sin(e)},
                    .back = {sin(a) * cos(e), sin(e), cos(a) * cos(e)},
                    .half_width = width / 2.0,
                    .half_height = height / 2.0,
                    .radius = view->radius};
    out->focal = fmin(out->half_width, out->half_height) / tan(asin(view->radius / distance));
    for (int i = 0; i < 3; i++) out->eye[i] = view->center[i] + distance * out->back[i];
    return isfinite(pelt_dot(out->eye, out->eye)) && isfinite(out->focal);
}

bool camera_project(const camera *c, const float *p, double out[3]) {
    double d[3] = {p[0] - c->eye[0], p[1] - c->eye[1], p[2] - c->eye[2]};
    double z = -pelt_dot(d, c->back);
    if (!(z > 1e-3 * c->radius)) return false;
    out[0] = c->half_width + c->focal * pelt_dot(d, c->right) / z;
    out[1] = c->half_height - c->focal * pelt_dot(d, c->up) / z;
    out[2] = z;
    return isfinite(out[0]) && isfinite(out[1]) && isfinite(z);
}

bool pelt_view_project(const pelt_view *view, uint32_t width, uint32_t height, const float point[3], double pixel[2]) {
    camera c;
    double at[3];
    if (!camera_make(view, width, height, &c) || !camera_project(&c, point, at)) return false;
    pixel[0] = at[0], pixel[1] = at[1];
    return true;
}

void pelt_view_tighten(pelt_view *view, const float *positions, uint32_t vertex_count, double *aspect) {
    const double widest = 1.8; /* aspect ratio of the picture */
    double half[2] = {0, 0};
    view->distance = pelt_view_distance(view);
    *aspect = 1;
    for (int round = 0; round < 3; round++) { /* moving the eye sideways changes the perspective slightly */
        camera c;
        double low[2] = {INFINITY, INFINITY}, high[2] = {-INFINITY, -INFINITY}, at[3];
        if (!camera_make(view, 2, 2, &c)) return;
        for (size_t v = 0; v < vertex_count; v++)
            for (int i = 0; i < 2 && camera_project(&c, positions + 3 * v, at); i++) {
                double tangent = (i ? c.half_height - at[1] : at[0] - c.half_width) / c.focal;
                low[i] = fmin(low[i], tangent), high[i] = fmax(high[i], tangent);
            }
        for (int i = 0; i < 2; i++) half[i] = (high[i] - low[i]) / 2;
        if (!(half[0] >= 0 && half[1] >= 0 && half[0] + half[1] > 0)) return;
        for (int i = 0; i < 3; i++)
            view->center[i] += view->distance / 2 * ((low[0] + high[0]) * c.right[i] + (low[1] + high[1]) * c.up[i]);
        half[0] = fmax(half[0], half[1] / widest), half[1] = fmax(half[1], half[0] / widest);
        view->radius = view->distance * sin(atan(MARGIN * fmin(half[0], half[1])));
    }
    *aspect = half[0] / half[1];
}
