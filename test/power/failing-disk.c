/* A library to be preloaded into the broker: its disk fails while a test requests it.
 *
 * The file that $FAILING_DISK_SWITCH names contains the fault of all regular files below $FAILING_DISK_DIRECTORY:
 *   full   writing and creating files fail with ENOSPC
 *   sync   writing succeeds, but fsync and fdatasync fail with EIO
 * Without the file, or with other content, the disk works.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

enum fault { NONE, FULL, SYNC };

static enum fault current_fault(void) {
  const char *path = getenv("FAILING_DISK_SWITCH");
  int fd = path ? REAL(open)(path, O_RDONLY | O_CLOEXEC) : -1;
  char word[8] = {0};
  if (fd < 0) return NONE;
  ssize_t length = read(fd, word, sizeof word - 1);
  close(fd);
  if (length <= 0) return NONE;
  return strncmp(word, "full", 4) == 0 ? FULL : strncmp(word, "sync", 4) == 0 ? SYNC : NONE;
}

static int is_below_directory(const char *path) {
  const char *directory = getenv("FAILING_DISK_DIRECTORY");
  size_t length = directory ? strlen(directory) : 0;
  return length > 0 && strncmp(path, directory, length) == 0 && path[length] == '/';
}

static int is_ours(int fd) {
  char link[64], path[PATH_MAX];
  struct stat status;
  if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) return 0;
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, path, sizeof path - 1);
  if (length <= 0) return 0;
  path[length] = 0;
  return is_below_directory(path);
}

static int fails(int fd, enum fault fault) { return is_ours(fd) && current_fault() == fault; }

static ssize_t no_space(void) {
  errno = ENOSPC;
  return -1;
}

ssize_t write(int fd, const void *bytes, size_t count) {
  return fails(fd, FULL) ? no_space() : REAL(write)(fd, bytes, count);
}

/* LevelDB writes by stdio, whose system calls do not come here, so half of a record may be written, as on a real disk. */
size_t(fwrite_unlocked)(const void *bytes, size_t size, size_t count, FILE *file) {
  if (!fails(fileno(file), FULL)) return REAL(fwrite_unlocked)(bytes, size, count, file);
  size_t taken = REAL(fwrite_unlocked)(bytes, size, count / 2, file);
  REAL(fflush_unlocked)(file);
  no_space();
  return taken;
}

int fflush_unlocked(FILE *file) {
  return fails(fileno(file), FULL) ? (int)no_space() : REAL(fflush_unlocked)(file);
}

ssize_t pwrite64(int fd, const void *bytes, size_t count, off64_t at) {
  return fails(fd, FULL) ? no_space() : REAL(pwrite64)(fd, bytes, count, at);
}

ssize_t pwrite(int fd, const void *bytes, size_t count, off_t at) { return pwrite64(fd, bytes, count, at); }

ssize_t writev(int fd, const struct iovec *parts, int count) {
  return fails(fd, FULL) ? no_space() : REAL(writev)(fd, parts, count);
}

ssize_t pwritev64(int fd, const struct iovec *parts, int count, off64_t at) {
  return fails(fd, FULL) ? no_space() : REAL(pwritev64)(fd, parts, count, at);
}

ssize_t pwritev(int fd, const struct iovec *parts, int count, off_t at) { return pwritev64(fd, parts, count, at); }

static int cannot_be_made(const char *path, int flags) {
  return (flags & O_CREAT) && is_below_directory(path) && access(path, F_OK) != 0 && current_fault() == FULL;
}

int open64(const char *path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  mode_t mode = (flags & (O_CREAT | O_TMPFILE)) ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  return cannot_be_made(path, flags) ? (int)no_space() : REAL(open64)(path, flags, mode);
}

int open(const char *path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  mode_t mode = (flags & (O_CREAT | O_TMPFILE)) ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  return cannot_be_made(path, flags) ? (int)no_space() : REAL(open)(path, flags, mode);
}

FILE *fopen64(const char *path, const char *mode) {
  if (!cannot_be_made(path, mode[0] == 'r' ? 0 : O_CREAT)) return REAL(fopen64)(path, mode);
  no_space();
  return NULL;
}

static int cannot_be_safe(void) {
  errno = EIO;
  return -1;
}

int fsync(int fd) { return fails(fd, SYNC) ? cannot_be_safe() : REAL(fsync)(fd); }

int fdatasync(int fd) { return fails(fd, SYNC) ? cannot_be_safe() : REAL(fdatasync)(fd); }
