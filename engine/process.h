/* process.h: one process that evaluates points, and the protocol it speaks.

   The process writes one line, then answers requests until its input ends:

       hello     "pelt-engine 1 POINTS COMPONENTS CONTROLS\n"
              or "PERR" and a sentence, as below
       request   u32 0x51455250 ("PREQ"), u32 controls, u32 count, f32 controls..., u32 points...
       answer    u32 0x534e4150 ("PANS"), u32 count, f32 values [count][components]
              or u32 0x52524550 ("PERR"), u32 length, a sentence of that many bytes

   in the byte order of the machine. What it writes to standard error goes to the user. */

#ifndef PELT_PROCESS_H
#define PELT_PROCESS_H

#include "rig/rig.h"

typedef struct pelt_process {
    const char *name; /* for messages */
    double timeout;
    int pid, channel;
    uint32_t points, components, controls; /* as it said */
} pelt_process;

/* What the child does with its end of the channel; its return value is its exit code. */
typedef int pelt_child(void *user, int channel);

/* Starts a process and reads its hello. */
pelt_result pelt_process_start(pelt_process *process, pelt_child *child, void *user, pelt_error *error);
/* Asks for points. After a failure the process has been ended. */
pelt_result pelt_process_ask(pelt_process *process, const float *controls, const uint32_t *points, uint32_t count,
                             float *values, pelt_error *error);
void pelt_process_end(pelt_process *process);

/* A child that runs a command of the shell. */
int pelt_child_command(void *command, int channel);

/* A child that serves a function of a shared object; user is a pelt_shared_object. */
typedef struct pelt_shared_object {
    const char *path;
    uint32_t points, components, controls; /* where the object does not say */
} pelt_shared_object;
int pelt_child_object(void *object, int channel);

#endif
