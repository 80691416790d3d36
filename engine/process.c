/* process.c: talks to a process that evaluates points. Every wait ends: after the timeout, or when the process is gone,
   it is killed and the caller gets an error.

   Between the caller and the engine is a keeper, a process that does nothing but wait:

       caller ---- channel ------------- engine, and whatever it starts
          \\---- lifeline ---- keeper ----/

   When the engine ends, the keeper ends with its code; when the lifeline ends, because the caller closed it or died in
   any way, kill -9 included, the keeper kills the engine and everything it started, even in other process groups: the
   keeper adopts orphans. If the keeper itself is killed, the engine dies with it. The engine's standard error passes
   through the keeper too. */

#define _GNU_SOURCE /* ppoll */
#include "engine/process.h"
#include "engine/relay.h"
#include "rig/clock.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#include <sys/syscall.h>
#endif

enum { REQUEST = 0x51455250, ANSWER = 0x534e4150, COMPLAINT = 0x52524550 };

/* -- The keeper ---------------------------------------------------------------------------------------------------- */

enum { CHANNEL = 3, LIFELINE = 4 }; /* descriptors of keeper and engine; all others are closed */

static void keep_descriptors(int channel, int lifeline) {
    channel = fcntl(channel, F_DUPFD, LIFELINE + 1), lifeline = fcntl(lifeline, F_DUPFD, LIFELINE + 1);
    dup2(channel, CHANNEL), dup2(lifeline, LIFELINE);
#ifdef SYS_close_range
    if (!syscall(SYS_close_range, LIFELINE + 1, ~0u, 0)) return;
#endif
    long most = sysconf(_SC_OPEN_MAX);
    for (int i = LIFELINE + 1; i < (most > 0 && most < 65536 ? most : 65536); i++) close(i);
}

static void wake_up(int number) { (void)number; }

/* Kills the children of this process: the engine, and orphans it started. Each round may find new ones. */
static void kill_children(void) {
    char path[64], text[4096];
    snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
    int list = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = list >= 0 ? read(list, text, sizeof text - 1) : 0;
    if (list >= 0) close(list);
    text[length > 0 ? length : 0] = 0;
    for (char *at = text, *end = text; strtol(at, &end, 10) > 1; at = end) kill((pid_t)strtol(at, NULL, 10), SIGKILL);
}

static int end_everything(pid_t engine, int code) {
    int status;
    for (int i = 0; i < 500; i++) { /* waits at most a second for a process that cannot die yet */
        kill(-engine, SIGKILL);
        kill_children();
        pid_t ended;
        while ((ended = waitpid(-1, &status, WNOHANG)) > 0)
            if (ended == engine && code < 0) code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
        if (ended < 0 && errno == ECHILD) break;
        nanosleep(&(struct timespec){0, 2000000}, NULL);
    }
    return code < 0 ? 128 + SIGKILL : code;
}

static int keep(pid_t engine, pelt_relay *errors) {
    sigset_t none;
    sigemptyset(&none);
    for (int status;;) {
        pid_t ended = waitpid(-1, &status, WNOHANG); /* SIGCHLD is blocked until ppoll */
        if (ended == engine)
            return end_everything(engine, WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status));
        if (ended > 0) continue;
        struct pollfd p[2] = {{LIFELINE, POLLIN, 0}, pelt_relay_wants(errors)};
        if (ppoll(p, 2, NULL, &none) <= 0) continue;
        if (p[0].revents) return end_everything(engine, -1);
        pelt_relay_step(errors);
    }
}

static int run_engine(pelt_child *child, void *user) {
    setpgid(0, 0);
    close(LIFELINE);
    return child(user, CHANNEL);
}

static int run_keeper(pelt_child *child, void *user) {
    static const int caught[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGXFSZ, SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT};
    sigset_t ends_of_children, before;
    setpgid(0, 0);
    for (size_t i = 0; i < sizeof caught / sizeof *caught; i++) signal(caught[i], SIG_DFL);
    signal(SIGCHLD, wake_up);
    sigemptyset(&ends_of_children), sigaddset(&ends_of_children, SIGCHLD);
    sigprocmask(SIG_BLOCK, &ends_of_children, &before);
    pid_t keeper = getpid();
#ifdef __linux__
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
#endif
    int errors[2];
    pid_t engine = pipe(errors) ? -1 : fork();
    if (engine < 0) return 127;
    if (engine > 0) {
        pelt_relay relay = {.from = errors[0], .to = 2};
        setpgid(engine, engine);
        signal(SIGPIPE, SIG_IGN);
        close(CHANNEL), close(errors[1]);
        int code = keep(engine, &relay);
        pelt_relay_finish(&relay);
        return code;
    }
    dup2(errors[1], 2);
    for (int i = 0; i < 2; i++)
        if (errors[i] != 2) close(errors[i]);
    signal(SIGCHLD, SIG_DFL);
    sigprocmask(SIG_SETMASK, &before, NULL);
#ifdef __linux__
    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
#endif
    return getppid() == keeper ? run_engine(child, user) : 127;
}

/* -- Ending -------------------------------------------------------------------------------------------------------- */

static void close_end(int *descriptor) {
    if (*descriptor >= 0) close(*descriptor);
    *descriptor = -1;
}

/* Whether the keeper has ended: its end of the lifeline is closed. */
static bool ends_before(const pelt_process *p, double deadline) {
    double left = deadline - pelt_wall_seconds();
    struct pollfd line = {p->lifeline, POLLIN, 0};
    return p->lifeline >= 0 && poll(&line, 1, left > 0 ? (int)(1000 * left) + 1 : 0) > 0;
}

void pelt_process_leave(pelt_process *p) { close_end(&p->channel); }

/* An engine should end when its input ends; one that does not is killed. Returns the keeper's status. */
static int end_before(pelt_process *p, double deadline) {
    int status = 0;
    pelt_process_leave(p);
    if (p->pid <= 0) return 0;
    ends_before(p, deadline);
    close_end(&p->lifeline);
    while (waitpid(p->pid, &status, 0) < 0 && errno == EINTR) continue;
    p->pid = 0;
    return status;
}

double pelt_process_grace(void) { return pelt_wall_seconds() + 0.1; }

void pelt_process_end(pelt_process *p, double deadline) { end_before(p, deadline); }

/* The process is gone or useless: ends it and reports how. */
static pelt_result give_up(pelt_process *p, const char *what, pelt_error *error) {
    char how[80] = "";
    bool by_itself = p->pid > 0 && ends_before(p, pelt_wall_seconds() + 0.05);
    int status = end_before(p, 0);
    if (by_itself) {
        int number = WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status) - 128;
        if (number > 0)
            snprintf(how, sizeof how, " (killed by signal %d, %s)", number, strsignal(number));
        else
            snprintf(how, sizeof how, " (it exited with code %d)", WEXITSTATUS(status));
    }
    return pelt_fail(error, PELT_ERROR_DATA, "engine %s: %s%s", p->name, what, how);
}

/* -- Bytes with a deadline ----------------------------------------------------------------------------------------- */

typedef enum outcome { DONE, CLOSED, LATE } outcome;

static outcome wait_for(int channel, short event, double deadline) {
    for (;;) {
        double left = deadline - pelt_wall_seconds();
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

#ifdef PELT_COVERAGE
void __gcov_dump(void);
#endif

/* _exit does not flush coverage counts. */
static void end_child(int code) {
#ifdef PELT_COVERAGE
    __gcov_dump();
#endif
    _exit(code);
}

/* A number of digits only, followed by a space or the end; false if malformed or out of range. */
static bool read_count(const char **text, uint32_t low, uint32_t high, uint32_t *count) {
    uint64_t value = 0;
    const char *at = *text;
    if (*at < '0' || *at > '9') return false;
    for (; *at >= '0' && *at <= '9' && value <= high; at++) value = 10 * value + (uint64_t)(*at - '0');
    *text = *at == ' ' ? at + 1 : at;
    *count = (uint32_t)value;
    return (*at == ' ' || !*at) && value >= low && value <= high;
}

bool pelt_engine_hello(const char *line, uint32_t *points, uint32_t *components, uint32_t *controls) {
    static const char begin[] = "pelt-engine 1 ";
    if (strncmp(line, begin, strlen(begin)) != 0) return false;
    const char *at = line + strlen(begin);
    return read_count(&at, 1, PELT_ENGINE_MOST_POINTS, points) &&
           read_count(&at, 1, PELT_ENGINE_MOST_COMPONENTS, components) &&
           read_count(&at, 0, PELT_ENGINE_MOST_CONTROLS, controls) && !*at &&
           (uint64_t)*points * *components <= PELT_ENGINE_MOST_VALUES;
}

pelt_result pelt_process_hello(pelt_process *p, double deadline, pelt_error *error) {
    char line[128];
    size_t length = 0;
    for (; length + 1 < sizeof line; length++) {
        outcome o = receive_all(p->channel, line + length, 1, deadline);
        if (o != DONE) return give_up_on(p, o, "before its greeting", error);
        if (line[length] == '\n') break;
        uint32_t complaint;
        if (length == 3 && !memcmp(line, &(uint32_t){COMPLAINT}, 4)) {
            o = receive_all(p->channel, &complaint, sizeof complaint, deadline);
            return o == DONE ? read_complaint(p, complaint, deadline, error)
                             : give_up_on(p, o, "before its greeting", error);
        }
    }
    line[length] = 0;
    if (length && line[length - 1] == '\r') line[length - 1] = 0;
    if (pelt_engine_hello(line, &p->points, &p->components, &p->controls)) return PELT_OK;
    if (!strncmp(line, "pelt-engine 1 ", 14)) {
        char what[300];
        snprintf(what, sizeof what,
                 "announces \"%s\", but pelt supports 1 to %u points of 1 to %u values, at most %u values in total, "
                 "and up to %u controls",
                 line, PELT_ENGINE_MOST_POINTS, PELT_ENGINE_MOST_COMPONENTS, PELT_ENGINE_MOST_VALUES,
                 PELT_ENGINE_MOST_CONTROLS);
        return give_up(p, what, error);
    }
    return give_up(p, "must begin with the line \"pelt-engine 1 POINTS COMPONENTS CONTROLS\", and did not", error);
}

double pelt_process_deadline(const pelt_process *p) { return pelt_wall_seconds() + p->timeout; }

pelt_result pelt_process_start(pelt_process *p, pelt_child *child, void *user, pelt_error *error) {
    int channel[2] = {-1, -1}, lifeline[2] = {-1, -1};
    p->pid = 0, p->channel = p->lifeline = -1;
    bool connected = !socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, channel) &&
                     !socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, lifeline);
    if (connected) fflush(NULL);
    int pid = connected ? fork() : -1;
    if (pid == 0) {
        keep_descriptors(channel[1], lifeline[1]);
        end_child(run_keeper(child, user));
    }
    int reason = errno;
    close_end(&channel[1]), close_end(&lifeline[1]);
    p->channel = channel[0], p->lifeline = lifeline[0], p->pid = pid;
    if (pid > 0) return PELT_OK;
    close_end(&p->channel), close_end(&p->lifeline);
    p->pid = 0;
    return pelt_fail(error, PELT_ERROR_MEMORY, "engine %s: cannot be started: %s", p->name, strerror(reason));
}

int pelt_child_command(void *command, int channel) {
    dup2(channel, 0), dup2(channel, 1);
    close(channel);
    execl("/bin/sh", "sh", "-c", (const char *)command, (char *)NULL);
    return 127;
}

/* -- Asking -------------------------------------------------------------------------------------------------------- */

pelt_result pelt_process_ask(pelt_process *p, const float *controls, const uint32_t *points, uint32_t count,
                             float *values, pelt_error *error) {
    if (p->channel < 0) return pelt_fail(error, PELT_ERROR_DATA, "engine %s: is no longer running", p->name);
    double deadline = pelt_wall_seconds() + p->timeout;
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
            snprintf(
                what, sizeof what,
                "sent an answer that does not begin with \"PANS\"; does it print anything else to standard output?");
        else
            snprintf(what, sizeof what, "answered with %u points, but was asked for %u", answer[1], count);
        return give_up(p, what, error);
    }
    o = receive_all(p->channel, values, (size_t)count * p->components * sizeof *values, deadline);
    return o == DONE ? PELT_OK : give_up_on(p, o, "in the middle of an answer", error);
}
