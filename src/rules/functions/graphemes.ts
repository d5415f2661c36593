// Texts as sequences of graphemes: what a reader sees as one character.

import type { Budget } from '../../values/index.ts'

const segmenter = new Intl.Segmenter('en', { granularity: 'grapheme' })

/** In such a text, each UTF-16 unit is one grapheme. CR LF is one grapheme. */
// oxlint-disable-next-line no-control-regex -- the range is all of ASCII
const simpleText = /^[\u0000-\u007f]*$/

function isSimple(text: string): boolean {
  return simpleText.test(text) && !text.includes('\r\n')
}

/** Segmentation costs this many times more than reading. */
const segmentationCost = 16

export function splitGraphemes(text: string, budget: Budget): string[] {
  budget.countCreated(8 * text.length)
  if (isSimple(text)) return text.split('')
  budget.countRead(segmentationCost * text.length)
  return Array.from(segmenter.segment(text), ({ segment }) => segment)
}

export function countGraphemes(text: string, budget: Budget): number {
  return isSimple(text) ? text.length : splitGraphemes(text, budget).length
}

/** Returns the graphemes from `start` (the first is 0), at most `length`. */
export function sliceGraphemes(text: string, start: number, length: number, budget: Budget): string {
  budget.countCreated(text.length)
  if (isSimple(text)) return text.slice(start, start + length)
  return splitGraphemes(text, budget)
    .slice(start, start + length)
    .join('')
}
