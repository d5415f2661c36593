// The dialog before a restore: what the file is, and what would change.

import type { JSX } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { Dialog } from '../parts/dialogs.tsx'
import { Checkbox } from '../parts/fields.tsx'
import { Facts } from '../parts/page.tsx'
import { Name } from '../parts/values.tsx'
import { api, type Failure, type Result, formatFailure } from '../state/api.ts'
import { formatNumber, escapeHiddenLetters } from '../state/format.ts'
import { t } from '../state/messages.ts'
import { useQuery } from '../state/query.ts'
import { showDone } from '../state/results.ts'
import { type BackupFile, Progress } from './backup.tsx'

interface RestoreProps {
  readonly file: BackupFile
  readonly onClose: () => void
  readonly onDone: () => void
}

type Verified = Extract<Awaited<ReturnType<typeof api.verify_backup>>, { reply: unknown }>['reply']['data']
type Imported = Extract<Awaited<ReturnType<typeof api.import_backup>>, { reply: unknown }>['reply']['data']

export function RestoreDialog({ file, onClose, onDone }: RestoreProps): JSX.Element {
  const { filename, node } = file
  // Cleared each time the dialog opens: it is a new one then.
  const [allowsMismatch, setAllowsMismatch] = useState(false)
  const [isBusy, setBusy] = useState(false)
  const [failure, setFailure] = useState<Failure>()
  const [outcome, setOutcome] = useState<Imported>()
  const cancel = useRef<HTMLButtonElement>(null)
  useEffect(() => cancel.current?.focus(), [])
  const restore = async (): Promise<void> => {
    setBusy(true)
    setFailure(undefined)
    const body = { filename, node, allow_security_profile_mismatch: allowsMismatch }
    const result = await retryWhileBusy(() => api.import_backup({ body }))
    setBusy(false)
    if ('failure' in result) {
      setFailure(result.failure)
      return
    }
    setOutcome(result.reply.data)
    showDone(`${t('restore')} ${filename}`)
    onDone()
  }
  const preview = usePreview({ filename, node, allowsMismatch })
  return (
    <Dialog title={t('restoreBackup')} role="alertdialog" onClose={onClose}>
      <Preview filename={filename} node={node} preview={preview} />
      <p>{t('nothingDeleted')}</p>
      <Checkbox label={t('allowMismatch')} isChecked={allowsMismatch} onChange={setAllowsMismatch} />
      {failure !== undefined && (
        <p role="alert" class="notice failed">
          {escapeHiddenLetters(formatFailure(failure))}
        </p>
      )}
      {outcome !== undefined && <Changes title={t('restored')} outcome={outcome} />}
      {(isBusy || !preview.isDone) && <Progress />}
      <div class="dialog-buttons">
        <button type="button" ref={cancel} onClick={onClose}>
          {outcome === undefined ? t('cancel') : t('close')}
        </button>
        <button
          type="button"
          class="danger"
          disabled={isBusy || !preview.isDone || outcome !== undefined}
          onClick={() => void restore()}
        >
          {t('restore')}
        </button>
      </div>
    </Dialog>
  )
}

/** Pause before a retry, while the broker works on another archive. */
const busyPauseMs = 250
/** 10 minutes: an abandoned preview of a large archive is completed first. The dialog can be closed meanwhile. */
const maxBusyPauses = 2_400

/** The broker works on one archive at a time, and completes what this page does not wait for any more. */
async function retryWhileBusy<Reply>(send: () => Promise<Result<Reply>>): Promise<Result<Reply>> {
  for (let pauses = 0; ; pauses++) {
    const result = await send()
    const isBusy = 'failure' in result && result.failure.reason === 'CONFLICT'
    if (!isBusy || pauses === maxBusyPauses) return result
    await new Promise((resolve) => setTimeout(resolve, busyPauseMs))
  }
}

interface PreviewOptions {
  readonly filename: string
  readonly node: string
  readonly allowsMismatch: boolean
}

interface RestorePreview {
  readonly verified: Verified | undefined
  readonly changes: Imported | undefined
  readonly failure: Failure | undefined
  /** The broker works on one archive at a time: until the preview is complete, it would refuse the restore. */
  readonly isDone: boolean
}

/** Requests the content of the file (`verify`), and then the changes that a restore would make (dry run). */
function usePreview({ filename, node, allowsMismatch }: PreviewOptions): RestorePreview {
  const verified = useQuery(`verify ${filename}`, (options) =>
    retryWhileBusy(() => api.verify_backup({ body: { filename } }, options)),
  )
  const isWhole = verified.reply !== undefined
  const request = `preview ${filename} ${allowsMismatch} ${isWhole}`
  const found = useQuery(request, async (options): Promise<Result<PreviewReply>> => {
    if (!isWhole) return { reply: { request } }
    const body = { filename, node, dry_run: true, allow_security_profile_mismatch: allowsMismatch }
    const result = await retryWhileBusy(() => api.import_backup({ body }, options))
    // A refusal is part of the preview, so that it goes when another request has its reply.
    return {
      reply: 'failure' in result ? { request, failure: result.failure } : { request, changes: result.reply.data },
    }
  })
  // The reply to an earlier request is kept until the next one arrives: it says nothing about this one.
  const current = found.reply?.request === request ? found.reply : undefined
  const failure = verified.failure ?? current?.failure
  const isDone = failure !== undefined || (isWhole && current !== undefined)
  return { verified: verified.reply?.data, changes: current?.changes, failure, isDone }
}

interface PreviewReply {
  readonly request: string
  readonly changes?: Imported
  readonly failure?: Failure
}

interface PreviewProps {
  readonly filename: string
  readonly node: string
  readonly preview: RestorePreview
}

function Preview({ filename, node, preview }: PreviewProps): JSX.Element {
  const nodes = useQuery('nodes', (options) => api.list_nodes({}, options))
  const profile = nodes.reply?.data.find((one) => one.node === node)?.security_profile
  const { verified, changes, failure } = preview
  return (
    <>
      <Facts
        facts={[
          [t('fileName'), <Name key="file" text={filename} />],
          [t('profileOfFile'), verified?.security_profile ?? '…'],
          [t('profileOfNode'), profile ?? '…'],
          [t('version'), verified === undefined ? '…' : <Name text={verified.version} />],
        ]}
      />
      {failure !== undefined && failure.kind === 'refused' && (
        <p role="alert" class="notice failed">
          {escapeHiddenLetters(formatFailure(failure))}
        </p>
      )}
      {changes !== undefined && <Changes title={t('willChange')} outcome={changes} />}
    </>
  )
}

function Changes({ title, outcome }: { readonly title: string; readonly outcome: Imported }): JSX.Element {
  const { tables, configuration, warnings } = outcome
  const touched = tables.filter(({ inserts, updates }) => inserts + updates > 0)
  return (
    <section aria-label={title}>
      <h2>{title}</h2>
      {touched.length + configuration.length === 0 && <p class="empty">{t('noChanges')}</p>}
      <ul>
        {touched.map(({ table, inserts, updates }) => (
          <li key={table}>
            {t('tableChange', { table, added: formatNumber(inserts), replaced: formatNumber(updates) })}
          </li>
        ))}
        {configuration.map(({ key, old, new: next }) => (
          <li key={key}>
            <Name text={`${key}: ${old ?? t('byDefault')} → ${next ?? t('byDefault')}`} />
          </li>
        ))}
        {warnings.map((warning) => (
          <li key={warning}>
            <Name text={warning} />
          </li>
        ))}
      </ul>
    </section>
  )
}
