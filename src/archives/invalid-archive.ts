/** The archive is malformed or exceeds a limit. The message is a sentence that names the member or the line. */
export class InvalidArchive extends Error {}

/** Returns text of the archive for an error message: short, on one line, without control characters. */
export function quoteText(text: string): string {
  return JSON.stringify(text.length > 120 ? `${text.slice(0, 120)}...` : text)
}
