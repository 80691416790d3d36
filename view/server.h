/* server.h: the server of `pelt view`: 127.0.0.1 alone, for who has the key.

   One thread talks to all clients and never waits: what takes time is done by others (work.c), and their requests sleep
   until it is there. So a slow client holds nothing but its own connection, and that not for long.

   Every request must name this server as its Host, and come from its own page where it says where from (Origin,
   Sec-Fetch-Site); data and jobs need the key, which is in the address that is printed and that other pages do not know. */

#ifndef PELT_VIEW_SERVER_H
#define PELT_VIEW_SERVER_H

#include "view/view.h"

typedef struct pelt_server pelt_server;

typedef struct pelt_server_options {
    uint16_t port;          /* 0: a free one */
    const char *folder;     /* where files that clients send may go: a private one; NULL: none are taken */
    double request_seconds; /* how long a client may take to ask, or to take the answer; 0: 30 */
} pelt_server_options;

/* The view must outlive it. */
pelt_server *pelt_server_start(pelt_view *view, const pelt_server_options *options, pelt_error *error);
/* Ends connections and work. */
void pelt_server_stop(pelt_server *server);

uint16_t pelt_server_port(const pelt_server *server);
const char *pelt_server_key(const pelt_server *server);

#endif
