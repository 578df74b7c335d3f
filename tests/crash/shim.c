/* Counts the calls of a process that change a folder, and ends or spoils the process at one of them.
 *
 * Loaded before libc (LD_PRELOAD). After crash_watch(folder, ...) the first call that looks at
 * anything below the folder turns the process into a server: for every order that it reads it forks
 * a child which goes on from there, with all its memory. So what comes before the first look at the
 * folder is computed once, and every child sees the folder as it is when it begins. */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { COUNT, KILL, STOP, FAIL_ONCE, FAIL_ROOM, FAIL_ALL };
enum { OFF, WAITING, ARMED };
enum { FREE, ROOM }; /* whether a call asks the disk for room */

struct order { int action, point, error; };
struct answer { int pid, status, count; };

static char folder[PATH_MAX];
static size_t folder_length;
static int state = OFF, orders = -1, answers = -1, calls_log = -1;
static struct order order;
static int *count; /* shared with the children */
static int frozen;

#define REAL(name) \
    static __typeof__(&name) real; \
    if (!real) real = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

/* The path of a call, as one from the root; links are not followed. */
static const char *whole(int at, const char *path, char *out)
{
    char link[64];
    ssize_t length;
    if (path && path[0] == '/') return path;
    if (at == AT_FDCWD) {
        if (syscall(SYS_getcwd, out, PATH_MAX) < 0) return NULL;
    } else {
        snprintf(link, sizeof link, "/proc/self/fd/%d", at);
        length = syscall(SYS_readlinkat, AT_FDCWD, link, out, PATH_MAX - 1);
        if (length < 0) return NULL;
        out[length] = 0;
    }
    if (path && path[0]) {
        strncat(out, "/", PATH_MAX - strlen(out) - 1);
        strncat(out, path, PATH_MAX - strlen(out) - 1);
    }
    return out;
}

static int below(int at, const char *path, char *out)
{
    const char *found = whole(at, path, out);
    if (!found || strncmp(found, folder, folder_length) || found[folder_length] != '/') return 0;
    if (found != out) strncpy(out, found, PATH_MAX - 1);
    return found[folder_length + 1] != 0;
}

/* The process becomes a server; children return from here. */
static void serve(void)
{
    struct answer answer;
    for (;;) {
        if (syscall(SYS_read, orders, &order, sizeof order) != sizeof order) syscall(SYS_exit_group, 0);
        *count = 0;
        answer.pid = fork();
        if (answer.pid == 0) {
            state = ARMED;
            return;
        }
        do {
            while (waitpid(answer.pid, &answer.status, WUNTRACED) < 0 && errno == EINTR) {}
            answer.count = *count;
            syscall(SYS_write, answers, &answer, sizeof answer);
        } while (WIFSTOPPED(answer.status));
    }
}

/* Opening the folder itself is a look too, as it may be locked; asking whether it is there is not. */
static void touch(int at, const char *path, int opened)
{
    char out[PATH_MAX] = "";
    const char *found;
    int kept = errno;
    if (state == WAITING) {
        found = opened ? whole(at, path, out) : NULL;
        if ((found && !strcmp(found, folder)) || below(at, path, out)) serve();
    }
    errno = kept;
}

/* Whether a call that changes the folder fails; it may not return. */
static int change(const char *name, int at, const char *path, int room)
{
    char out[PATH_MAX] = "", line[PATH_MAX + 32];
    int here, kept = errno;
    touch(at, path, 0);
    if (state != ARMED || !below(at, path, out)) {
        errno = kept;
        return 0;
    }
    here = ++*count;
    if (calls_log >= 0) {
        int length = snprintf(line, sizeof line, "%d %s %s\n", here, name, out + folder_length + 1);
        syscall(SYS_write, calls_log, line, length);
    }
    errno = kept;
    if (here == order.point && order.action == KILL) syscall(SYS_kill, getpid(), SIGKILL);
    if (here == order.point && order.action == STOP) syscall(SYS_kill, getpid(), SIGSTOP);
    if ((order.action == FAIL_ONCE && here == order.point) ||
        (order.action == FAIL_ROOM && here >= order.point && room == ROOM) ||
        (order.action == FAIL_ALL && here >= order.point)) {
        errno = order.error;
        return 1;
    }
    return 0;
}

void crash_watch(const char *path, int orders_from, int answers_to, int log_to)
{
    strncpy(folder, path, sizeof folder - 1);
    folder_length = strlen(folder);
    orders = orders_from;
    answers = answers_to;
    calls_log = log_to;
    count = mmap(NULL, sizeof *count, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    frozen = 1;
    state = WAITING;
}

/* Calls that open. */

static int opens(const char *name, int at, const char *path, int flags)
{
    if ((flags & O_ACCMODE) == O_RDONLY && !(flags & (O_CREAT | O_TRUNC))) {
        touch(at, path, 1);
        return 0;
    }
    return change(name, at, path, flags & O_CREAT ? ROOM : FREE);
}

#define MODE mode_t mode = 0; \
    if (flags & (O_CREAT | O_TMPFILE)) { va_list more; va_start(more, flags); mode = va_arg(more, mode_t); va_end(more); }
#define OPEN(name) int name(const char *path, int flags, ...) \
    { REAL(name); MODE; return opens("open", AT_FDCWD, path, flags) ? -1 : real(path, flags, mode); }
#define OPENAT(name) int name(int at, const char *path, int flags, ...) \
    { REAL(name); MODE; return opens("open", at, path, flags) ? -1 : real(at, path, flags, mode); }
#define FOPEN(name) FILE *name(const char *path, const char *how) \
    { REAL(name); return opens("fopen", AT_FDCWD, path, how[0] == 'r' && !strchr(how, '+') ? O_RDONLY : O_WRONLY | O_CREAT) ? NULL : real(path, how); }
OPEN(open) OPEN(open64) OPENAT(openat) OPENAT(openat64) FOPEN(fopen) FOPEN(fopen64)

/* Calls that change; the last word says whether they need room. */

#define CHANGE(type, name, list, values, at, path, room) \
    type name list { REAL(name); return change(#name, at, path, room) ? (type)-1 : real values; }

CHANGE(ssize_t, write, (int fd, const void *data, size_t n), (fd, data, n), fd, NULL, ROOM)
CHANGE(ssize_t, pwrite, (int fd, const void *data, size_t n, off_t o), (fd, data, n, o), fd, NULL, ROOM)
CHANGE(ssize_t, pwrite64, (int fd, const void *data, size_t n, off64_t o), (fd, data, n, o), fd, NULL, ROOM)
CHANGE(ssize_t, writev, (int fd, const struct iovec *v, int n), (fd, v, n), fd, NULL, ROOM)
CHANGE(ssize_t, copy_file_range, (int from, off64_t *a, int to, off64_t *b, size_t n, unsigned f), (from, a, to, b, n, f), to, NULL, ROOM)
ssize_t sendfile64(int, int, off64_t *, size_t);
ssize_t sendfile(int, int, off_t *, size_t);
CHANGE(ssize_t, sendfile, (int to, int from, off_t *o, size_t n), (to, from, o, n), to, NULL, ROOM)
CHANGE(ssize_t, sendfile64, (int to, int from, off64_t *o, size_t n), (to, from, o, n), to, NULL, ROOM)
CHANGE(int, ftruncate, (int fd, off_t n), (fd, n), fd, NULL, ROOM)
CHANGE(int, ftruncate64, (int fd, off64_t n), (fd, n), fd, NULL, ROOM)
CHANGE(int, fallocate, (int fd, int how, off_t o, off_t n), (fd, how, o, n), fd, NULL, ROOM)
CHANGE(int, fsync, (int fd), (fd), fd, NULL, FREE)
CHANGE(int, fdatasync, (int fd), (fd), fd, NULL, FREE)
CHANGE(int, fchmod, (int fd, mode_t m), (fd, m), fd, NULL, FREE)
CHANGE(int, chmod, (const char *path, mode_t m), (path, m), AT_FDCWD, path, FREE)
CHANGE(int, fchmodat, (int at, const char *path, mode_t m, int f), (at, path, m, f), at, path, FREE)
CHANGE(int, utimensat, (int at, const char *path, const struct timespec t[2], int f), (at, path, t, f), at, path, FREE)
CHANGE(int, truncate, (const char *path, off_t n), (path, n), AT_FDCWD, path, ROOM)
CHANGE(int, truncate64, (const char *path, off64_t n), (path, n), AT_FDCWD, path, ROOM)
CHANGE(int, unlink, (const char *path), (path), AT_FDCWD, path, FREE)
CHANGE(int, unlinkat, (int at, const char *path, int f), (at, path, f), at, path, FREE)
CHANGE(int, rmdir, (const char *path), (path), AT_FDCWD, path, FREE)
CHANGE(int, mkdir, (const char *path, mode_t m), (path, m), AT_FDCWD, path, ROOM)
CHANGE(int, mkdirat, (int at, const char *path, mode_t m), (at, path, m), at, path, ROOM)
CHANGE(int, rename, (const char *from, const char *to), (from, to), AT_FDCWD, to, FREE)
CHANGE(int, renameat, (int a, const char *from, int b, const char *to), (a, from, b, to), b, to, FREE)
CHANGE(int, renameat2, (int a, const char *from, int b, const char *to, unsigned f), (a, from, b, to, f), b, to, FREE)
CHANGE(int, link, (const char *from, const char *to), (from, to), AT_FDCWD, to, ROOM)
CHANGE(int, linkat, (int a, const char *from, int b, const char *to, int f), (a, from, b, to, f), b, to, ROOM)
CHANGE(int, symlink, (const char *what, const char *path), (what, path), AT_FDCWD, path, ROOM)
CHANGE(int, symlinkat, (const char *what, int at, const char *path), (what, at, path), at, path, ROOM)
CHANGE(int, mknod, (const char *path, mode_t m, dev_t d), (path, m, d), AT_FDCWD, path, ROOM)

/* Calls that look. */

#define LOOK(type, name, list, values, at, path, opened) \
    type name list { REAL(name); touch(at, path, opened); return real values; }

LOOK(int, stat, (const char *path, struct stat *s), (path, s), AT_FDCWD, path, 0)
LOOK(int, lstat, (const char *path, struct stat *s), (path, s), AT_FDCWD, path, 0)
LOOK(int, fstatat, (int at, const char *path, struct stat *s, int f), (at, path, s, f), at, path, 0)
LOOK(int, stat64, (const char *path, struct stat64 *s), (path, s), AT_FDCWD, path, 0)
LOOK(int, lstat64, (const char *path, struct stat64 *s), (path, s), AT_FDCWD, path, 0)
LOOK(int, fstatat64, (int at, const char *path, struct stat64 *s, int f), (at, path, s, f), at, path, 0)
LOOK(int, access, (const char *path, int how), (path, how), AT_FDCWD, path, 0)
LOOK(int, faccessat, (int at, const char *path, int how, int f), (at, path, how, f), at, path, 0)
LOOK(ssize_t, readlink, (const char *path, char *b, size_t n), (path, b, n), AT_FDCWD, path, 0)
LOOK(ssize_t, readlinkat, (int at, const char *path, char *b, size_t n), (at, path, b, n), at, path, 0)
LOOK(DIR *, opendir, (const char *path), (path), AT_FDCWD, path, 1)

/* The time of day stands still: two runs write the same bytes. */

int clock_gettime(clockid_t clock, struct timespec *now)
{
    REAL(clock_gettime);
    int done = real(clock, now);
    if (frozen && clock == CLOCK_REALTIME) *now = (struct timespec){1700000000, 0};
    return done;
}

time_t time(time_t *now)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    if (now) *now = t.tv_sec;
    return t.tv_sec;
}
