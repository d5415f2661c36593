// Text from outside, in which nothing is hidden.

/** Letters that one cannot see or that turn the direction of what follows. */
const hiddenLetters = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu

/** A name from outside, in which nothing is hidden. */
export function escapeHiddenLetters(text: string): string {
  return text.replaceAll(hiddenLetters, (letter) => `\\u${(letter.codePointAt(0) ?? 0).toString(16).padStart(4, '0')}`)
}
