/** The archive is not what it should be. The message is a sentence that names the place. */
export class BadArchive extends Error {}

/** Text of a stranger's in a sentence: short, on one line, without control characters. */
export function quoted(text: string): string {
  return JSON.stringify(text.length > 120 ? `${text.slice(0, 120)}...` : text)
}
