/* process.h: one process that evaluates points, and the protocol it speaks.

   The process writes one line, then answers requests until its input ends:

       hello     "pelt-engine 1 POINTS COMPONENTS CONTROLS\n"
              or "PERR" and a sentence, as below
       request   u32 0x51455250 ("PREQ"), u32 controls, u32 count, f32 controls..., u32 points...
       answer    u32 0x534e4150 ("PANS"), u32 count, f32 values [count][components]
              or u32 0x52524550 ("PERR"), u32 length, a sentence of that many bytes

   in the machine's byte order. Its standard error goes to the user, escaped (relay.h). The sizes in its hello are
   trusted up to the limits below, since they determine memory use. */

#ifndef PELT_PROCESS_H
#define PELT_PROCESS_H

#include "rig/rig.h"

#define PELT_ENGINE_MOST_POINTS (1u << 26)
#define PELT_ENGINE_MOST_COMPONENTS 64u
#define PELT_ENGINE_MOST_VALUES (1u << 28) /* points times components: 1 GiB */
#define PELT_ENGINE_MOST_CONTROLS (1u << 20)

/* Parses the line of a hello, without its newline; false if malformed or beyond the limits. */
bool pelt_engine_hello(const char *line, uint32_t *points, uint32_t *components, uint32_t *controls);

typedef struct pelt_process {
    const char *name; /* for messages */
    double timeout;   /* seconds for the hello, and for each answer */
    int pid;          /* of the keeper */
    int channel, lifeline;
    uint32_t points, components, controls; /* from its hello */
} pelt_process;

/* Runs in the child on its end of the channel; the return value is its exit code. */
typedef int pelt_child(void *user, int channel);

/* Starts a process. However the caller ends, neither it nor anything it started is left behind. */
pelt_result pelt_process_start(pelt_process *process, pelt_child *child, void *user, pelt_error *error);
/* Reads its hello, until a deadline: pelt_process_deadline is now plus its timeout. */
pelt_result pelt_process_hello(pelt_process *process, double deadline, pelt_error *error);
double pelt_process_deadline(const pelt_process *process);
/* Requests points. A failure ends the process. */
pelt_result pelt_process_ask(pelt_process *process, const float *controls, const uint32_t *points, uint32_t count,
                             float *values, pelt_error *error);
/* Closes its input, so that it can end by itself; several can do so in parallel. */
void pelt_process_leave(pelt_process *process);
/* Waits for its end until the deadline, then kills it. pelt_process_grace is a deadline a tenth of a second from now.
   */
void pelt_process_end(pelt_process *process, double deadline);
double pelt_process_grace(void);

/* A child that runs a shell command. */
int pelt_child_command(void *command, int channel);

/* A child that serves a function of a shared object; user is a pelt_shared_object. */
typedef struct pelt_shared_object {
    const char *path;
    uint32_t points, components, controls; /* if the object does not export them */
} pelt_shared_object;
int pelt_child_object(void *object, int channel);

#endif
