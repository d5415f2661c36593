// The messages of the explorer: the chosen one as a whole, what changed since the one before, and its numbers over time.

import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { Checkbox, Select } from '../parts/fields.tsx'
import { decodeBase64, PayloadView } from '../parts/payload.tsx'
import { Plot } from '../parts/plot.tsx'
import { CopyButton, Name, Time } from '../parts/values.tsx'
import { formatNumber, formatTime, escapeHiddenLetters } from '../state/format.ts'
import type { LiveMessage } from '../state/live-topics.ts'
import { t } from '../state/messages.ts'
import { selectBestForm, copyText, formatPayload } from '../state/payload-text.ts'
import { compareLines, parseNumbers } from '../state/payload-values.ts'

interface MessagesProps {
  /** The newest first. */
  readonly messages: readonly LiveMessage[]
  /** undefined: of all topics. */
  readonly selected: string | undefined
}

const msPerSecond = 1_000
/** A plot of one point shows nothing. */
const minPoints = 2

export function MessageList({ messages, selected }: MessagesProps): JSX.Element {
  const [chosen, setChosen] = useState<LiveMessage>()
  const [isCompared, setCompared] = useState(false)
  // Without a choice the newest is shown, and changes as messages come.
  const shown = chosen !== undefined && messages.includes(chosen) ? chosen : messages[0]
  const before = shown === undefined ? undefined : findPreviousMessage(messages, shown)
  return (
    <section class="panel" aria-label={t('messages')}>
      <h2>{selected === undefined ? t('messages') : escapeHiddenLetters(selected)}</h2>
      {shown === undefined ? (
        <p class="empty">{t('noMessages')}</p>
      ) : (
        <>
          <MessageHead message={shown} /> <CopyButton text={shown.topic} what={t('topic')} />
          {chosen === shown && (
            <button type="button" onClick={() => setChosen(undefined)}>
              {t('showNewest')}
            </button>
          )}
          <PayloadView base64={shown.payload_base64} size={shown.size} />
          <Checkbox label={t('compareWithPrevious')} isChecked={isCompared} onChange={setCompared} />
          {isCompared && <Comparison before={before} after={shown} />}
        </>
      )}
      {selected !== undefined && <NumberPlot messages={messages} />}
      <ul class="messages">
        {messages.slice(1).map((message) => (
          <li key={message.number}>
            <button type="button" aria-pressed={message === shown} onClick={() => setChosen(message)}>
              <MessageHead message={message} />
            </button>
          </li>
        ))}
      </ul>
    </section>
  )
}

function findPreviousMessage(messages: readonly LiveMessage[], message: LiveMessage): LiveMessage | undefined {
  return messages.slice(messages.indexOf(message) + 1).find(({ topic }) => topic === message.topic)
}

function MessageHead({ message }: { readonly message: LiveMessage }): JSX.Element {
  const { ts, topic, qos, retain, size, clientid } = message
  return (
    <span>
      <Time ms={ts} /> <Name text={topic} /> QoS {qos}
      {retain && ` ${t('isRetained')}`} · {formatNumber(size)} B · <Name text={clientid} />
    </span>
  )
}

interface ComparisonProps {
  readonly before: LiveMessage | undefined
  readonly after: LiveMessage
}

const marks = { same: ' ', added: '+', removed: '-' } as const

function Comparison({ before, after }: ComparisonProps): JSX.Element {
  if (before === undefined) return <p class="empty">{t('noPrevious')}</p>
  const old = decodeBase64(before.payload_base64)
  const now = decodeBase64(after.payload_base64)
  const lines = compareLines(...formatComparable(old, now))
  return (
    <pre tabIndex={0} role="region" aria-label={t('changesSince', { time: formatTime(before.ts) })}>
      {lines.map(({ change, text }, index) => (
        <span key={index} class={`line ${change}`}>
          {marks[change]} {text}
          {'\n'}
        </span>
      ))}
    </pre>
  )
}

/** JSON is compared by its lines. Texts that differ in white space only are compared as they were published. */
function formatComparable(old: Uint8Array, now: Uint8Array): [string, string] {
  const form = selectBestForm(now)
  const texts: [string, string] = [formatPayload(old, form), formatPayload(now, form)]
  const isSame = texts[0] === texts[1]
  return isSame && copyText(old, 'hex') !== copyText(now, 'hex')
    ? [formatPayload(old, selectPlainForm(old)), formatPayload(now, selectPlainForm(now))]
    : texts
}

/** Without a layout: bytes that are not UTF-8 differ where their texts do not. */
function selectPlainForm(bytes: Uint8Array): 'hex' | 'text' {
  return selectBestForm(bytes) === 'hex' ? 'hex' : 'text'
}

/** Of a path of `numbersIn`. */
const formatName = (path: string): string => (path === '' ? t('payload') : escapeHiddenLetters(path))

/** Of each message once. */
const knownNumbers = new WeakMap<LiveMessage, ReadonlyMap<string, number>>()

function readNumbers(message: LiveMessage): ReadonlyMap<string, number> {
  let numbers = knownNumbers.get(message)
  if (numbers === undefined) {
    numbers = parseNumbers(new TextDecoder().decode(decodeBase64(message.payload_base64)))
    knownNumbers.set(message, numbers)
  }
  return numbers
}

function NumberPlot({ messages }: { readonly messages: readonly LiveMessage[] }): JSX.Element | null {
  const [chosen, setChosen] = useState<string>()
  const rising = messages
    .map((message) => ({
      seconds: message.ts / msPerSecond,
      numbers: readNumbers(message),
    }))
    .toReversed()
  const paths = [...new Set(rising.flatMap(({ numbers }) => [...numbers.keys()]))]
  const path = chosen !== undefined && paths.includes(chosen) ? chosen : paths[0]
  if (path === undefined) return null
  const points = rising.filter(({ numbers }) => numbers.has(path))
  if (points.length < minPoints) return null
  return (
    <>
      <Select
        label={t('plottedValue')}
        value={path}
        options={paths.map((one) => [one, formatName(one)])}
        onChange={setChosen}
      />
      <Plot
        title={t('valuesOverTime')}
        times={points.map(({ seconds }) => seconds)}
        lines={[
          {
            title: formatName(path),
            color: '--accent',
            values: points.map(({ numbers }) => numbers.get(path) ?? null),
          },
        ]}
      />
    </>
  )
}
