/* process.c: talks to a process that evaluates points. Every wait has an end: after the timeout, or when the process is
   gone, it is killed and the caller gets a sentence. */

#include "engine/process.h"
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { REQUEST = 0x51455250, ANSWER = 0x534e4150, COMPLAINT = 0x52524550 };

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* -- Ending -------------------------------------------------------------------------------------------------------- */

void pelt_process_end(pelt_process *p) {
    if (p->channel >= 0) close(p->channel);
    p->channel = -1;
    if (p->pid <= 0) return;
    /* It ends by itself when its input ends; whoever does not is killed, with all that it started. */
    for (int i = 0; i < 50; i++) {
        if (waitpid(p->pid, NULL, WNOHANG) == p->pid) {
            p->pid = 0;
            return;
        }
        nanosleep(&(struct timespec){0, 2000000}, NULL);
    }
    kill(-p->pid, SIGKILL);
    kill(p->pid, SIGKILL);
    waitpid(p->pid, NULL, 0);
    p->pid = 0;
}

static void kill_now(pelt_process *p) {
    if (p->channel >= 0) close(p->channel);
    p->channel = -1;
    if (p->pid <= 0) return;
    kill(-p->pid, SIGKILL);
    kill(p->pid, SIGKILL);
    waitpid(p->pid, NULL, 0);
    p->pid = 0;
}

/* The process is gone or useless: ends it and says how it was. */
static pelt_result give_up(pelt_process *p, const char *what, pelt_error *error) {
    int status = 0;
    char how[80] = "";
    for (int i = 0; i < 20 && p->pid > 0; i++) {
        if (waitpid(p->pid, &status, WNOHANG) == p->pid) {
            /* A shell tells of a command's signal by a code beyond 128. */
            int number = WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status) - 128;
            if (number > 0)
                snprintf(how, sizeof how, " (it was ended by signal %d, %s)", number, strsignal(number));
            else
                snprintf(how, sizeof how, " (it ended with code %d)", WEXITSTATUS(status));
            p->pid = 0;
        } else {
            nanosleep(&(struct timespec){0, 1000000}, NULL);
        }
    }
    kill_now(p);
    return pelt_fail(error, PELT_ERROR_DATA, "engine %s: %s%s", p->name, what, how);
}

/* -- Bytes with a deadline ----------------------------------------------------------------------------------------- */

typedef enum outcome { DONE, CLOSED, LATE } outcome;

static outcome wait_for(int channel, short event, double deadline) {
    for (;;) {
        double left = deadline - seconds();
        if (left <= 0) return LATE;
        struct pollfd p = {channel, event, 0};
        int ready = poll(&p, 1, left > 1000 ? 1000000 : (int)(1000 * left) + 1);
        if (ready > 0) return DONE;
        if (ready < 0 && errno != EINTR) return CLOSED;
    }
}

static outcome send_all(int channel, const void *bytes, size_t size, double deadline) {
    for (const char *at = bytes; size;) {
        outcome o = wait_for(channel, POLLOUT, deadline);
        if (o != DONE) return o;
        ssize_t put = send(channel, at, size, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (put > 0) at += put, size -= (size_t)put;
        if (put < 0 && errno != EINTR && errno != EAGAIN) return CLOSED;
    }
    return DONE;
}

static outcome receive_all(int channel, void *bytes, size_t size, double deadline) {
    for (char *at = bytes; size;) {
        outcome o = wait_for(channel, POLLIN, deadline);
        if (o != DONE) return o;
        ssize_t got = recv(channel, at, size, MSG_DONTWAIT);
        if (got > 0) at += got, size -= (size_t)got;
        if (got == 0 || (got < 0 && errno != EINTR && errno != EAGAIN)) return CLOSED;
    }
    return DONE;
}

static pelt_result give_up_on(pelt_process *p, outcome o, const char *when, pelt_error *error) {
    char what[160];
    if (o == LATE)
        snprintf(what, sizeof what, "did not answer within %.3g s %s", p->timeout, when);
    else
        snprintf(what, sizeof what, "stopped %s", when);
    return give_up(p, what, error);
}

static pelt_result read_complaint(pelt_process *p, uint32_t length, double deadline, pelt_error *error) {
    char said[400] = "", what[500];
    uint32_t kept = length < sizeof said - 1 ? length : sizeof said - 1;
    receive_all(p->channel, said, kept, deadline);
    snprintf(what, sizeof what, "says: %s", said);
    return give_up(p, what, error);
}

/* -- Starting ------------------------------------------------------------------------------------------------------ */

static pelt_result read_hello(pelt_process *p, pelt_error *error) {
    char line[128];
    size_t length = 0;
    double deadline = seconds() + p->timeout;
    for (; length + 1 < sizeof line; length++) {
        outcome o = receive_all(p->channel, line + length, 1, deadline);
        if (o != DONE) return give_up_on(p, o, "before it said hello", error);
        if (line[length] == '\n') break;
        uint32_t complaint;
        if (length == 3 && !memcmp(line, &(uint32_t){COMPLAINT}, 4)) {
            o = receive_all(p->channel, &complaint, sizeof complaint, deadline);
            return o == DONE ? read_complaint(p, complaint, deadline, error)
                             : give_up_on(p, o, "before it said hello", error);
        }
    }
    line[length] = 0;
    unsigned version = 0, points = 0, components = 0, controls = 0;
    if (sscanf(line, "pelt-engine %u %u %u %u", &version, &points, &components, &controls) != 4 || version != 1 ||
        !points || !components || components > 64 || controls > 1 << 20)
        return give_up(p, "did not begin with \"pelt-engine 1 POINTS COMPONENTS CONTROLS\"", error);
    p->points = points, p->components = components, p->controls = controls;
    return PELT_OK;
}

pelt_result pelt_process_start(pelt_process *p, pelt_child *child, void *user, pelt_error *error) {
    int ends[2];
    p->pid = 0, p->channel = -1;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
        return pelt_fail(error, PELT_ERROR_MEMORY, "engine %s: no channel to it: %s", p->name, strerror(errno));
    fflush(NULL);
    int pid = fork();
    if (pid < 0) {
        close(ends[0]), close(ends[1]);
        return pelt_fail(error, PELT_ERROR_MEMORY, "engine %s: cannot be started: %s", p->name, strerror(errno));
    }
    if (pid == 0) {
        setpgid(0, 0);
        static const int caught[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT};
        for (size_t i = 0; i < sizeof caught / sizeof *caught; i++) signal(caught[i], SIG_DFL);
        _exit(child(user, ends[1]));
    }
    setpgid(pid, pid);
    close(ends[1]);
    p->pid = pid, p->channel = ends[0];
    return read_hello(p, error);
}

int pelt_child_command(void *command, int channel) {
    dup2(channel, 0), dup2(channel, 1); /* the copies stay open in the command, the channel itself does not */
    execl("/bin/sh", "sh", "-c", (const char *)command, (char *)NULL);
    return 127;
}

/* -- Asking -------------------------------------------------------------------------------------------------------- */

pelt_result pelt_process_ask(pelt_process *p, const float *controls, const uint32_t *points, uint32_t count,
                             float *values, pelt_error *error) {
    if (p->channel < 0) return pelt_fail(error, PELT_ERROR_DATA, "engine %s: is no longer running", p->name);
    double deadline = seconds() + p->timeout;
    uint32_t head[3] = {REQUEST, p->controls, count}, answer[2];
    outcome o = send_all(p->channel, head, sizeof head, deadline);
    if (o == DONE) o = send_all(p->channel, controls, p->controls * sizeof *controls, deadline);
    if (o == DONE) o = send_all(p->channel, points, count * sizeof *points, deadline);
    if (o == DONE) o = receive_all(p->channel, answer, sizeof answer, deadline);
    if (o != DONE) return give_up_on(p, o, "when it was asked for points", error);
    if (answer[0] == COMPLAINT) return read_complaint(p, answer[1], deadline, error);
    if (answer[0] != ANSWER || answer[1] != count) {
        char what[160];
        if (answer[0] != ANSWER)
            snprintf(what, sizeof what,
                     "gave an answer that does not begin with \"PANS\"; does it print to standard "
                     "output?");
        else
            snprintf(what, sizeof what, "answered with %u points, but was asked for %u", answer[1], count);
        return give_up(p, what, error);
    }
    o = receive_all(p->channel, values, (size_t)count * p->components * sizeof *values, deadline);
    return o == DONE ? PELT_OK : give_up_on(p, o, "in the middle of an answer", error);
}
