// Errors of reading a file as sentences.

/** Without the path, which the caller names. */
export function describeFileError(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException
  switch (code) {
    case 'ENOENT':
      return 'there is no such file'
    case 'EACCES':
      return 'this account may not read it'
    case 'EISDIR':
      return 'it is a directory'
    default:
      return message
  }
}
