/** Returns the code points of a text, as jq counts characters. */
export function splitCodePoints(text: string): string[] {
  return Array.from(text)
}
