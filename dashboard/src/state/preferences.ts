// Preferences of the user in this browser: theme, language, time zone. They are not secrets and stay in `localStorage`.

import { effect, type Signal, signal } from '@preact/signals'

export type Theme = 'system' | 'light' | 'dark'
export type Language = 'en' | 'de'
export type TimeZone = 'browser' | 'broker' | 'utc'

function createStoredSignal<Value extends string>(key: string, values: readonly Value[], preset: Value): Signal<Value> {
  const storageKey = `godwit.${key}`
  const found = localStorage.getItem(storageKey)
  const chosen = signal(values.find((value) => value === found) ?? preset)
  effect(() => localStorage.setItem(storageKey, chosen.value))
  return chosen
}

const preferred: Language = navigator.language.startsWith('de') ? 'de' : 'en'

export const theme = createStoredSignal<Theme>('theme', ['system', 'light', 'dark'], 'system')
export const language = createStoredSignal<Language>('language', ['en', 'de'], preferred)
export const timeZone = createStoredSignal<TimeZone>('time-zone', ['browser', 'broker', 'utc'], 'browser')
/** Minutes by which the clock of the broker is ahead of UTC. */
export const brokerOffsetMinutes = signal(0)

effect(() => {
  document.documentElement.dataset['theme'] = theme.value
  document.documentElement.lang = language.value
})
