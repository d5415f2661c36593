/* A library to be preloaded into the broker. It logs how much of each file has been synced, so that a test can remove
 * the rest, as a power cut would.
 *
 * Lines of $UNSYNCED_LOG:
 *   <bytes> <inode>   so many bytes of the file are synced. Zero for a new or truncated file: its inode may have
 *                     been that of another file. Bytes that are written during a sync do not count.
 *   names <inode>     the names in this directory are synced
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static void note(const struct stat *status) {
  const char *path = getenv("UNSYNCED_LOG");
  int fd = path ? REAL(open)(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600) : -1;
  char line[64];
  if (fd < 0) return;
  unsigned long long inode = (unsigned long long)status->st_ino;
  int length = S_ISDIR(status->st_mode) ? snprintf(line, sizeof line, "names %llu\n", inode)
                                        : snprintf(line, sizeof line, "%lld %llu\n", (long long)status->st_size, inode);
  if (write(fd, line, (size_t)length) != length) abort();
  close(fd);
}

static int note_if_empty(int fd) {
  struct stat status;
  if (fd >= 0 && fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_size == 0) note(&status);
  return fd;
}

static int sync_by(int (*sync)(int), int fd) {
  struct stat status;
  int is_known = fstat(fd, &status) == 0 && (S_ISREG(status.st_mode) || S_ISDIR(status.st_mode));
  int result = sync(fd);
  if (result == 0 && is_known) note(&status);
  return result;
}

int fsync(int fd) { return sync_by(REAL(fsync), fd); }

int fdatasync(int fd) { return sync_by(REAL(fdatasync), fd); }

/* On 64-bit systems both names are the same function. */
static int open_by(int (*real)(const char *, int, ...), const char *path, int flags, mode_t mode) {
  int fd = real(path, flags, mode);
  return (flags & (O_CREAT | O_TRUNC)) ? note_if_empty(fd) : fd;
}

static mode_t mode_in(int flags, va_list rest) { return (flags & (O_CREAT | O_TMPFILE)) ? va_arg(rest, mode_t) : 0; }

int open(const char *path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  int fd = open_by(REAL(open), path, flags, mode_in(flags, rest));
  va_end(rest);
  return fd;
}

int open64(const char *path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  int fd = open_by(REAL(open64), path, flags, mode_in(flags, rest));
  va_end(rest);
  return fd;
}

FILE *fopen64(const char *path, const char *mode) {
  FILE *file = REAL(fopen64)(path, mode);
  if (file && mode[0] != 'r') note_if_empty(fileno(file));
  return file;
}
