// Acts that need a second word: a dialog says what is hit, and the act is done by its own button.

import type { ComponentChildren } from 'preact'
import { signal } from '@preact/signals'

export interface Question {
  /** Begins with the act; name of the dialog. */
  readonly title: string
  /** What is hit. */
  readonly text: ComponentChildren
  /** Word of the button. */
  readonly act: string
  /** Must be typed before the act can be done. */
  readonly typed?: string
  /** Done; the dialog closes when it resolves with true. */
  readonly run: () => Promise<boolean>
}

export const question = signal<Question | undefined>(undefined)

export function askBefore(asked: Question): void {
  question.value = asked
}
