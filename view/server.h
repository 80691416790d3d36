/* server.h: the server of `pelt view`: on 127.0.0.1 only, for whoever has the key.

   One thread talks to all clients and never blocks: slow work is done by others (work.c), and its requests are
   suspended until it is done. So a slow client only holds its own connection, and not for long.

   Every request must name this server as its Host, and come from its own page if it states an origin (Origin,
   Sec-Fetch-Site); data and jobs need the key, which is part of the printed address and unknown to other pages. */

#ifndef PELT_VIEW_SERVER_H
#define PELT_VIEW_SERVER_H

#include "view/view.h"

typedef struct pelt_server pelt_server;

typedef struct pelt_server_options {
    uint32_t port;          /* 0: a free one */
    const char *folder;     /* private folder for files sent by clients; NULL: refuse them */
    double request_seconds; /* time limit for sending a request, or receiving the answer; 0: 30 */
} pelt_server_options;

/* The view must outlive it. */
pelt_server *pelt_server_start(pelt_view *view, const pelt_server_options *options, pelt_error *error);
/* Ends connections and work. */
void pelt_server_stop(pelt_server *server);

uint16_t pelt_server_port(const pelt_server *server);
const char *pelt_server_key(const pelt_server *server);

#endif
