// The words of the page. English is part of the first load, German is loaded when it is chosen; a test compares their keys.

import { effect, signal } from '@preact/signals'
import { en } from '../messages/en.ts'
import { language } from './preferences.ts'

export type MessageKey = keyof typeof en
export type Messages = Readonly<Record<MessageKey, string>>

const messages = signal<Messages>(en)

effect(() => {
  if (language.value === 'en') messages.value = en
  else void loadGerman()
})

async function loadGerman(): Promise<void> {
  const { de } = await import('../messages/de.ts')
  if (language.peek() === 'de') messages.value = de
}

/** The text of a key; `{name}` in it is replaced. */
export function t(key: MessageKey, values: Readonly<Record<string, string | number>> = {}): string {
  const text = messages.value[key]
  return text.replaceAll(/\{(\w+)\}/g, (whole, name: string) => String(values[name] ?? whole))
}
