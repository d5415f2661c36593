/** The archive is not what it should be. The message is a sentence that names the place. */
export class InvalidArchive extends Error {}

/** Returns text of the archive for an error message: short, on one line, without control characters. */
export function quoteText(text: string): string {
  return JSON.stringify(text.length > 120 ? `${text.slice(0, 120)}...` : text)
}
