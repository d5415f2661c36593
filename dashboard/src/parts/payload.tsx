// Payload of a message as text, JSON or bytes. It is always text of the page, never markup.

import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { saveFile } from '../state/export.ts'
import { formatBytes, formatNumber } from '../state/format.ts'
import { t } from '../state/messages.ts'
import { selectBestForm, copyText, formatPayload, type PayloadForm } from '../state/payload-text.ts'
import { Select } from './fields.tsx'
import { CopyButton } from './values.tsx'

/** Characters that are shown before `Show all`: more of them delay the page. */
const maxShown = 20_000

export function decodeBase64(base64: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(base64), (letter) => letter.codePointAt(0) ?? 0)
}

interface PayloadProps {
  readonly base64: string
  /** Bytes of the whole payload, where the broker sends only its beginning. */
  readonly size?: number
}

export function PayloadView({ base64, size }: PayloadProps): JSX.Element {
  const bytes = decodeBase64(base64)
  const [chosen, setChosen] = useState<PayloadForm>()
  const form = chosen ?? selectBestForm(bytes)
  const isTruncated = size !== undefined && size > bytes.byteLength
  const download = (): void => saveFile('payload.bin', 'application/octet-stream', new Blob([bytes]))
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
        <CopyButton text={copyText(bytes, form)} what={t('payload')} />
        <button type="button" class="small" aria-label={`${t('download')} ${t('payload')}`} onClick={download}>
          {t('download')}
        </button>
        <span>{formatBytes(size ?? bytes.byteLength)}</span>
        {isTruncated && (
          <span>{t('firstBytes', { shown: formatNumber(bytes.byteLength), all: formatNumber(size) })}</span>
        )}
      </div>
      <PayloadText text={formatPayload(bytes, form)} isRegion={true} />
    </div>
  )
}

interface TextProps {
  /** As `formatPayload` returns it. */
  readonly text: string
  readonly isRegion?: boolean
}

/** A long text is cut, says so, and has a button that shows all of it. */
export function PayloadText({ text, isRegion = false }: TextProps): JSX.Element {
  /** The text of which the user wants all characters: the next message is cut again. */
  const [opened, setOpened] = useState<string>()
  const isCut = text.length > maxShown && opened !== text
  const region = isRegion ? { tabIndex: 0, role: 'region' as const, 'aria-label': t('payload') } : {}
  return (
    <>
      <pre {...region}>{isCut ? text.slice(0, maxShown) : text}</pre>
      {isCut && (
        <p>
          {t('firstCharacters', { shown: formatNumber(maxShown), all: formatNumber(text.length) })}{' '}
          <button type="button" class="small" onClick={() => setOpened(text)}>
            {t('showAll')}
          </button>
        </p>
      )}
    </>
  )
}
