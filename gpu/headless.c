/* headless.c: an OpenGL context without a window. Tries EGL's devices in turn, then a surfaceless display, then the
   default one. */

#include "gpu/headless.h"
#include "gpu/gl_functions.h"
#include "gpu/pack.h"
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

typedef void *EGLDisplay, *EGLConfig, *EGLContext, *EGLSurface, *EGLDevice;
typedef int EGLint;
typedef unsigned EGLenum, EGLBoolean;
typedef void (*EGLproc)(void);

enum {
    EGL_NONE = 0x3038,
    EGL_SURFACE_TYPE = 0x3033,
    EGL_RENDERABLE_TYPE = 0x3040,
    EGL_PBUFFER_BIT = 1,
    EGL_OPENGL_BIT = 8,
    EGL_OPENGL_ES3_BIT = 0x40,
    EGL_OPENGL_API = 0x30A2,
    EGL_OPENGL_ES_API = 0x30A0,
    EGL_CONTEXT_MAJOR_VERSION = 0x3098,
    EGL_CONTEXT_MINOR_VERSION = 0x30FB,
    EGL_CONTEXT_OPENGL_PROFILE_MASK = 0x30FD,
    EGL_CONTEXT_OPENGL_CORE_PROFILE_BIT = 1,
    EGL_PLATFORM_DEVICE = 0x313F,
    EGL_PLATFORM_SURFACELESS = 0x31DD,
    MOST_DEVICES = 32
};

#define EGL_FUNCTIONS(X)                                                                                               \
    X(EGLDisplay, GetDisplay, (void *native))                                                                          \
    X(EGLBoolean, Initialize, (EGLDisplay display, EGLint * major, EGLint * minor))                                    \
    X(EGLBoolean, BindAPI, (EGLenum api))                                                                              \
    X(EGLBoolean, ChooseConfig,                                                                                        \
      (EGLDisplay display, const EGLint *wanted, EGLConfig *configs, EGLint size, EGLint *count))                      \
    X(EGLContext, CreateContext, (EGLDisplay display, EGLConfig config, EGLContext share, const EGLint *wanted))       \
    X(EGLBoolean, DestroyContext, (EGLDisplay display, EGLContext context))                                            \
    X(EGLBoolean, MakeCurrent, (EGLDisplay display, EGLSurface draw, EGLSurface read, EGLContext context))             \
    X(EGLproc, GetProcAddress, (const char *name))

struct pelt_headless {
    void *library;
#define MEMBER(result, name, arguments) result(*name) arguments;
    EGL_FUNCTIONS(MEMBER)
#undef MEMBER
    EGLDisplay display;
    EGLContext context;
    char name[200];
};

void *pelt_headless_load(void *user, const char *name) {
    pelt_headless *h = user;
    EGLproc found = h->GetProcAddress(name);
    void *address;
    memcpy(&address, &found, sizeof address);
    return address;
}

static int load(pelt_headless *h) {
    h->library = dlopen("libEGL.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!h->library) return 0;
    int whole = 1;
    void *address;
#define LOAD(result, member, arguments)                                                                                \
    address = dlsym(h->library, "egl" #member);                                                                        \
    memcpy(&h->member, &address, sizeof address);                                                                      \
    whole &= address != NULL;
    EGL_FUNCTIONS(LOAD)
#undef LOAD
    return whole;
}

/* A context on a display; needs no surface if the driver supports that, and all relevant ones do. */
static int start(pelt_headless *h, EGLDisplay display, pelt_headless_api api) {
    EGLint major, minor, count = 0;
    EGLConfig config = NULL;
    int es = api == PELT_HEADLESS_ES30;
    const EGLint configs[] = {EGL_RENDERABLE_TYPE, es ? EGL_OPENGL_ES3_BIT : EGL_OPENGL_BIT, EGL_SURFACE_TYPE,
                              EGL_PBUFFER_BIT, EGL_NONE};
    const EGLint core[] = {
        EGL_CONTEXT_MAJOR_VERSION,           4,       EGL_CONTEXT_MINOR_VERSION, 3, EGL_CONTEXT_OPENGL_PROFILE_MASK,
        EGL_CONTEXT_OPENGL_CORE_PROFILE_BIT, EGL_NONE};
    const EGLint es30[] = {EGL_CONTEXT_MAJOR_VERSION, 3, EGL_CONTEXT_MINOR_VERSION, 0, EGL_NONE};
    if (!display || !h->Initialize(display, &major, &minor) || !h->BindAPI(es ? EGL_OPENGL_ES_API : EGL_OPENGL_API))
        return 0;
    h->ChooseConfig(display, configs, &config, 1, &count);
    EGLContext context = h->CreateContext(display, count ? config : NULL, NULL, es ? es30 : core);
    if (!context) return 0;
    if (!h->MakeCurrent(display, NULL, NULL, context)) {
        h->DestroyContext(display, context);
        return 0;
    }
    h->display = display, h->context = context;
    return 1;
}

static int start_any(pelt_headless *h, pelt_headless_api api, int device) {
    EGLBoolean (*query)(EGLint, EGLDevice *, EGLint *) = NULL;
    EGLDisplay (*platform)(EGLenum, void *, const EGLint *) = NULL;
    EGLproc found = h->GetProcAddress("eglQueryDevicesEXT");
    memcpy(&query, &found, sizeof query);
    found = h->GetProcAddress("eglGetPlatformDisplayEXT");
    memcpy(&platform, &found, sizeof platform);
    EGLDevice devices[MOST_DEVICES];
    EGLint count = 0;
    if (query && platform && !query(MOST_DEVICES, devices, &count)) count = 0;
    for (EGLint i = 0; platform && i < count; i++)
        if ((device < 0 || device == i) && start(h, platform(EGL_PLATFORM_DEVICE, devices[i], NULL), api)) return 1;
    if (device >= 0) return 0;
    return (platform && start(h, platform(EGL_PLATFORM_SURFACELESS, NULL, NULL), api)) ||
           start(h, h->GetDisplay(NULL), api);
}

pelt_headless *pelt_headless_new(pelt_headless_api api, int device, pelt_error *error) {
    pelt_headless *h = calloc(1, sizeof *h);
    const char *wanted = api == PELT_HEADLESS_ES30 ? "OpenGL ES 3.0" : "OpenGL 4.3";
    if (!h) return pelt_fail(error, PELT_ERROR_MEMORY, "not enough memory"), NULL;
    if (!load(h)) {
        pelt_fail(error, PELT_ERROR_DEVICE,
                  "%s needs EGL, but libEGL.so.1 was not found; install the graphics driver, or Mesa (libegl1 and "
                  "libgl1-mesa-dri)",
                  wanted);
    } else if (!start_any(h, api, device)) {
        if (device >= 0)
            pelt_fail(error, PELT_ERROR_DEVICE, "EGL device %d offers no %s context", device, wanted);
        else
            pelt_fail(error, PELT_ERROR_DEVICE, "EGL has no device that offers a %s context", wanted);
    } else {
        const unsigned char *(*string)(GLenum);
        void *address = pelt_headless_load(h, "glGetString");
        memcpy(&string, &address, sizeof string);
        const char *name = string ? (const char *)string(GL_RENDERER) : NULL;
        strncpy(h->name, name ? name : "unknown", sizeof h->name - 1);
        return h;
    }
    free(h);
    return NULL;
}

/* The library stays loaded: drivers do not like being unloaded. */
void pelt_headless_free(pelt_headless *h) {
    if (!h) return;
    h->MakeCurrent(h->display, NULL, NULL, NULL);
    h->DestroyContext(h->display, h->context);
    free(h);
}

const char *pelt_headless_name(const pelt_headless *h) { return h->name; }
