/* pthread.h: one thread needs no locks. */

#ifndef PELT_WEB_PTHREAD_H
#define PELT_WEB_PTHREAD_H

typedef int pthread_mutex_t, pthread_rwlock_t;
#define PTHREAD_MUTEX_INITIALIZER 0
static inline int pthread_mutex_lock(pthread_mutex_t *mutex) { return *mutex = 1, 0; }
static inline int pthread_mutex_unlock(pthread_mutex_t *mutex) { return *mutex = 0; }
#define pthread_mutex_init(mutex, how) (*(mutex) = 0)
#define pthread_mutex_destroy(mutex) ((void)(mutex))
#define pthread_rwlock_init(lock, how) (*(lock) = 0)
#define pthread_rwlock_destroy(lock) ((void)(lock))
#define pthread_rwlock_rdlock(lock) (*(lock) = 1)
#define pthread_rwlock_wrlock(lock) (*(lock) = 1)
#define pthread_rwlock_unlock(lock) (*(lock) = 0)

#endif
