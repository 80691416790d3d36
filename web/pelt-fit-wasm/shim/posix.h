/* posix.h: what io/ uses and WASI's C library lacks, for files in memory that nobody else sees. Included before every file. */

#ifndef PELT_WEB_POSIX_H
#define PELT_WEB_POSIX_H

#ifndef __cplusplus
#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#define SEEK_HOLE 9 /* refused, as where files have no holes */
#define SYS_getdents64 0
#undef dirent64
struct dirent64 {
    unsigned short d_reclen;
    char d_name[256];
};
#define flock(descriptor, how) ((void)(descriptor), 0)
#define syscall(...) (-1L) /* unfinished folders are none of a page's */
#define geteuid() 0
#define fchmod(descriptor, mode) ((void)(descriptor), (void)(mode), 0)
/* A second descriptor of a file, which WASI does not offer: the host does. fcntl is used for nothing else. */
__attribute__((import_module("pelt"), import_name("duplicate"))) int pelt_host_duplicate(int descriptor);
#define F_DUPFD_CLOEXEC 0
#define fcntl(descriptor, how, least) ((void)(how), pelt_host_duplicate(descriptor))
#define dup(descriptor) (-1)
#define realpath(path, resolved) strdup(path)
#define getpid() 1
#endif

#endif
