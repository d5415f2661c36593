// Payload of a message as text, JSON or bytes. It is always text of the page, never markup.

import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { formatBytes, visible } from '../state/format.ts'
import { t } from '../state/messages.ts'
import { Select } from './fields.tsx'
import { CopyButton } from './values.tsx'

export type PayloadForm = 'json' | 'text' | 'hex'

/** Characters that are shown. */
const maxShown = 20_000

export function bytesOf(base64: string): Uint8Array {
  return Uint8Array.from(atob(base64), (letter) => letter.codePointAt(0) ?? 0)
}

/** The form in which the payload can be read best. */
export function bestForm(bytes: Uint8Array): PayloadForm {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
    return /^\s*[{[]/.test(text) && isJson(text) ? 'json' : 'text'
  } catch {
    return 'hex'
  }
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

export function payloadText(bytes: Uint8Array, form: PayloadForm): string {
  if (form === 'hex')
    return [...bytes.subarray(0, maxShown / 3)].map((byte) => byte.toString(16).padStart(2, '0')).join(' ')
  const text = new TextDecoder().decode(bytes)
  const laidOut = form === 'json' && isJson(text) ? JSON.stringify(JSON.parse(text), undefined, 2) : text
  return laidOut.slice(0, maxShown).split('\n').map(visible).join('\n')
}

export function PayloadView({ base64 }: { readonly base64: string }): JSX.Element {
  const bytes = bytesOf(base64)
  const [chosen, setChosen] = useState<PayloadForm>()
  const form = chosen ?? bestForm(bytes)
  const text = payloadText(bytes, form)
  return (
    <div>
      <div class="toolbar">
        <Select
          label={t('format')}
          value={form}
          options={[
            ['json', 'JSON'],
            ['text', t('text')],
            ['hex', t('hex')],
          ]}
          onChange={setChosen}
        />
        <CopyButton text={text} what={t('payload')} />
        <span>{formatBytes(bytes.byteLength)}</span>
      </div>
      <pre tabIndex={0} role="region" aria-label={t('payload')}>
        {text}
      </pre>
    </div>
  )
}
