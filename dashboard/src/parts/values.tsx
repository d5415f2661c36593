// Values from outside: always text, never markup.

import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { formatTime, parseBrokerTime, escapeHiddenLetters } from '../state/format.ts'
import { t } from '../state/messages.ts'

const copiedMs = 1_500

/** Characters of a name that is not broken in a table. */
const maxShort = 20

/** A name that a client or a user has given. */
export function Name({ text }: { readonly text: string }): JSX.Element {
  return <bdi class={text.length > maxShort ? 'name' : 'name short'}>{escapeHiddenLetters(text)}</bdi>
}

interface CopyProps {
  readonly text: string
  readonly what: string
  /** Beside many others: without a frame. */
  readonly isQuiet?: boolean
}

export function CopyButton({ text, what: subject, isQuiet = false }: CopyProps): JSX.Element {
  const [isCopied, setCopied] = useState(false)
  const copy = async (): Promise<void> => {
    await navigator.clipboard.writeText(text)
    setCopied(true)
    setTimeout(() => setCopied(false), copiedMs)
  }
  return (
    <button
      type="button"
      class={isQuiet ? 'small quiet' : 'small'}
      aria-label={`${t('copy')} ${escapeHiddenLetters(subject)}`}
      onClick={() => void copy()}
    >
      {isCopied ? t('copied') : t('copy')}
    </button>
  )
}

/** A moment in milliseconds since 1970; undefined or NaN: nothing. */
export function Time({ ms }: { readonly ms: number | undefined | null }): JSX.Element | null {
  if (ms === undefined || ms === null || Number.isNaN(ms)) return null
  const iso = new Date(ms).toISOString()
  return (
    <time dateTime={iso} title={iso}>
      {formatTime(ms)}
    </time>
  )
}

/** `YYYY-MM-DD HH:mm:ss` of the broker. */
export function LocalTime({ text }: { readonly text: string | undefined | null }): JSX.Element | null {
  return text === undefined || text === null || text === '' ? null : <Time ms={parseBrokerTime(text)} />
}
