/* serving.h: shared by server.c and api.c. */

#ifndef PELT_VIEW_SERVING_H
#define PELT_VIEW_SERVING_H

#include "rig/json.h"
#include "view/server.h"
#include "view/work.h"
#include <microhttpd.h>
#include <pthread.h>
#include <stdatomic.h>

enum {
    MOST_CONNECTIONS = 400,
    MOST_HEADER_BYTES = 32 << 10,
    MOST_JSON_BYTES = 64 << 10,
    MOST_WAITING_JOBS = 8,
    MOST_JOBS = 64,       /* remembered jobs */
    MOST_DROPPED = 256,   /* files dropped at once */
    MOST_DROPS = 8,       /* unfinished ones */
    MOST_SAMPLES = 8,     /* built-in characters that clients have ordered, each once */
    MOST_UPLOADS = 12,    /* fewer than there may be unfinished files */
    MOST_STRANGERS = 100, /* connections that have not shown the key */
    KEY_LETTERS = 32,
};
/* libmicrohttpd versions name these differently. */
#define STRANGER_SECONDS 5
enum { STATUS_TOO_LARGE = 413, STATUS_UNPROCESSABLE = 422 };
#define MOST_FILE_BYTES ((uint64_t)2 << 30)
#define MOST_FOLDER_BYTES ((uint64_t)8 << 30)

/* -- Jobs -------------------------------------------------------------------------------------------------------- */

typedef enum job_state { JOB_RUNNING, JOB_DONE, JOB_FAILED, JOB_CANCELLED } job_state;

typedef struct job {
    view_task task;
    pelt_server *server;
    uint32_t number; /* from 1 on; 0: the slot is free */
    uint32_t character, skin;
    json_t *request; /* including its words */
    char name[200];
    atomic_bool cancel;
    /* Protected by the server's mutex: */
    job_state state;
    double share;
    char text[100];
    pelt_error error;
} job;

/* Files on their way: those that a client sends with the same name for all. */
typedef struct drop {
    char id[40];
    uint32_t number; /* its folder, from 1 on; 0: the slot is free */
    uint32_t count;
    uint64_t bytes; /* of files that have arrived */
    char *names[MOST_DROPPED];
} drop;

/* -- Requests ---------------------------------------------------------------------------------------------------- */

typedef enum request_state { REQUEST_NEW, REQUEST_RECEIVING, REQUEST_WORKING, REQUEST_MADE } request_state;

typedef struct request {
    view_task task;
    pelt_server *server;
    struct MHD_Connection *connection;
    _Atomic request_state state; /* made: the answer is complete and may be sent */
    const struct route *route;
    char *name; /* the requested resource, job number or file */
    const pelt_page_file *page;
    bool open; /* for a file: it is the last */
    char *body;
    size_t body_size, body_room;
    struct upload *upload;
    uint64_t light; /* its number among light requests */
    /* The answer. */
    unsigned status;
    pelt_resource answer;
} request;

/* How requests are answered: immediately, by the thread that talks to all; or by a queue of tasks. */
typedef void (*request_handler)(request *r);

/* A connection, for the timer thread. */
typedef enum phase { PHASE_ASKING, PHASE_RECEIVING, PHASE_WORKING, PHASE_ANSWERING } phase;

typedef struct connection {
    int descriptor;
    phase phase;
    double since;
    bool stranger;    /* has not shown the key yet */
    atomic_bool gone; /* closed by the client while it is being worked for */
    struct connection *next, **link;
} connection;

struct pelt_server {
    pelt_view *view;
    double request_seconds;
    uint16_t port;
    char key[KEY_LETTERS + 1];
    int listener;
    struct MHD_Daemon *daemon;
    view_line *quick, *slow, *live, *fits;
    atomic_bool stopping;
    atomic_ullong lights; /* light requests so far */
    pthread_mutex_t mutex;
    pthread_cond_t clock_change;
    pthread_t clock;
    bool clock_started, clock_runs;
    connection *connections;
    job jobs[MOST_JOBS];
    uint32_t job_count;
    /* Files sent by clients. */
    const char *folder;
    uint32_t drop_count, upload_count;
    uint64_t folder_bytes;
    drop drops[MOST_DROPS];
    /* Built-in characters made so far; used by the slow queue alone. */
    struct {
        char name[20];
        uint32_t character;
    } samples[MOST_SAMPLES];
    uint32_t sample_count;
};

/* -- Answers (server.c) ------------------------------------------------------------------------------------------ */

/* With a message. */
void answer_error(request *r, unsigned status, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* With the library's message. */
void answer_failure(request *r, const pelt_error *error);
/* Whether nobody waits for the answer any more; known up to a quarter of a second late. */
bool client_gone(const request *r);
/* Takes the reference. */
void answer_json(request *r, json_t *object);

/* -- Requests (api.c) ----------------------------------------------------------------------------------- */

/* Called before any of the body arrives; has answered when it returns false. */
bool api_begin_upload(request *r, uint64_t size, const char *drop);
/* Part of the body; false: close the connection. */
bool api_put_upload(request *r, const char *bytes, size_t size);
void api_drop_upload(request *r);

void api_bundle(request *r); /* in the slow queue */
void api_sample(request *r); /* likewise */
void api_fix(request *r);    /* likewise */
void api_light(request *r);  /* in the live queue */
void api_face(request *r);   /* likewise */
void api_fit(request *r);    /* immediately */
void api_skin(request *r);
void api_job(request *r);
void api_cancel(request *r);

/* Stops running work. */
void api_stop(pelt_server *server);
void api_free(pelt_server *server);

#endif
