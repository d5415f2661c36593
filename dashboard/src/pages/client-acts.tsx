// Acts on one client, for the list and for its page.

import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { FormDialog } from '../parts/dialogs.tsx'
import { Select, TextField } from '../parts/fields.tsx'
import { api, formatFailure } from '../state/api.ts'
import { parseInputTime, escapeHiddenLetters } from '../state/format.ts'
import { t } from '../state/messages.ts'
import { confirmBefore } from '../state/confirmations.ts'
import { showDone, showResult } from '../state/results.ts'

export function confirmDisconnect(clientid: string, onDone: () => void): void {
  confirmBefore({
    title: t('disconnectTitle', { name: escapeHiddenLetters(clientid) }),
    text: t('disconnectText'),
    act: t('disconnect'),
    run: async () => {
      const what = t('disconnectTitle', { name: clientid })
      const result = await api.kickout_client({ params: { clientid } })
      showResult(what, result)
      onDone()
      return true
    },
  })
}

type BanSubject = 'clientid' | 'username' | 'peerhost'

interface BanProps {
  readonly onClose: () => void
  readonly onDone: () => void
  /** Client ID to ban, if the dialog is opened for a client. */
  readonly who?: string
}

/** Until a moment, or for good. */
export function BanDialog({ onClose, onDone, who: preset = '' }: BanProps): JSX.Element {
  const [as, setAs] = useState<BanSubject>('clientid')
  const [who, setWho] = useState(preset)
  const [reason, setReason] = useState('')
  const [until, setUntil] = useState('')
  const save = async (): Promise<string | undefined> => {
    const ends = until === '' ? null : Math.floor(parseInputTime(until) / 1_000)
    const result = await api.create_banned({ body: { as, who, reason, until: ends } })
    if ('failure' in result) return formatFailure(result.failure)
    showDone(`${t('addBan')}: ${who}`)
    onDone()
    return undefined
  }
  return (
    <FormDialog title={t('addBan')} onClose={onClose} onSave={save}>
      <Select
        label={t('by')}
        value={as}
        options={[
          ['clientid', 'clientid'],
          ['username', 'username'],
          ['peerhost', 'peerhost'],
        ]}
        onChange={setAs}
      />
      <TextField label={t('who')} value={who} onInput={setWho} isRequired={true} />
      <TextField label={t('until')} type="datetime-local" value={until} onInput={setUntil} hint={t('untilHint')} />
      <TextField label={t('reason')} value={reason} onInput={setReason} />
    </FormDialog>
  )
}

type TraceType = 'clientid' | 'topic' | 'ip_address'

interface TraceProps {
  readonly onClose: () => void
  readonly onDone: () => void
  readonly clientId?: string
}

const presetSeconds = '600'

export function TraceDialog({ onClose, onDone, clientId = '' }: TraceProps): JSX.Element {
  const [name, setName] = useState('')
  const [type, setType] = useState<TraceType>('clientid')
  const [value, setValue] = useState(clientId)
  const [seconds, setSeconds] = useState(presetSeconds)
  const save = async (): Promise<string | undefined> => {
    const result = await api.create_trace({ body: { name, type, [type]: value, duration: Number(seconds) } })
    if ('failure' in result) return formatFailure(result.failure)
    showDone(`${t('addTrace')}: ${name}`)
    onDone()
    return undefined
  }
  return (
    <FormDialog title={t('addTrace')} onClose={onClose} onSave={save}>
      <TextField label={t('name')} value={name} onInput={setName} isRequired={true} hint={t('traceNameHint')} />
      <Select
        label={t('type')}
        value={type}
        options={[
          ['clientid', 'clientid'],
          ['topic', 'topic'],
          ['ip_address', 'ip_address'],
        ]}
        onChange={setType}
      />
      <TextField label={t('value')} value={value} onInput={setValue} isRequired={true} />
      <TextField label={t('durationSeconds')} type="number" value={seconds} onInput={setSeconds} min={1} />
    </FormDialog>
  )
}
