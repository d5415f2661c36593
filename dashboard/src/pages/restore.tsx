// The dialog before a restore: what the file is, and what would change.

import type { JSX } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { Dialog } from '../parts/dialogs.tsx'
import { Checkbox } from '../parts/fields.tsx'
import { Facts } from '../parts/page.tsx'
import { Name } from '../parts/values.tsx'
import { api, type Failure, type Result, textOf } from '../state/api.ts'
import { formatNumber, visible } from '../state/format.ts'
import { t } from '../state/messages.ts'
import { useQuery } from '../state/query.ts'
import { showDone } from '../state/results.ts'
import { type BackupFile, Progress } from './backup.tsx'

interface RestoreProps {
  readonly file: BackupFile
  readonly onClose: () => void
  readonly onDone: () => void
}

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
    const result = await api.import_backup({
      body: { filename, node, allow_security_profile_mismatch: allowsMismatch },
    })
    setBusy(false)
    if ('failure' in result) {
      setFailure(result.failure)
      return
    }
    setOutcome(result.reply.data)
    showDone(`${t('restore')} ${filename}`)
    onDone()
  }
  return (
    <Dialog title={t('restoreBackup')} role="alertdialog" onClose={onClose}>
      <Preview filename={filename} node={node} allowsMismatch={allowsMismatch} />
      <p>{t('nothingDeleted')}</p>
      <Checkbox label={t('allowMismatch')} isChecked={allowsMismatch} onChange={setAllowsMismatch} />
      {failure !== undefined && (
        <p role="alert" class="notice failed">
          {visible(textOf(failure))}
        </p>
      )}
      {outcome !== undefined && <Changes title={t('restored')} outcome={outcome} />}
      {isBusy && <Progress />}
      <div class="dialog-buttons">
        <button type="button" ref={cancel} onClick={onClose}>
          {outcome === undefined ? t('cancel') : t('close')}
        </button>
        <button type="button" class="danger" disabled={isBusy || outcome !== undefined} onClick={() => void restore()}>
          {t('restore')}
        </button>
      </div>
    </Dialog>
  )
}

interface PreviewProps {
  readonly filename: string
  readonly node: string
  readonly allowsMismatch: boolean
}

/** Pause before a retry, while the broker works on another archive. */
const busyPauseMs = 250
const maxBusyPauses = 40

/** The broker works on one archive at a time, and completes what this page does not wait for any more. */
async function whenFree<Reply>(send: () => Promise<Result<Reply>>): Promise<Result<Reply>> {
  for (let pauses = 0; ; pauses++) {
    const result = await send()
    const isBusy = 'failure' in result && result.failure.reason === 'CONFLICT'
    if (!isBusy || pauses === maxBusyPauses) return result
    await new Promise((resolve) => setTimeout(resolve, busyPauseMs))
  }
}

/** Content of the file (`verify`), and the changes that a restore would make (dry run). */
function Preview({ filename, node, allowsMismatch }: PreviewProps): JSX.Element {
  const verified = useQuery(`verify ${filename}`, (options) =>
    whenFree(() => api.verify_backup({ body: { filename } }, options)),
  )
  const nodes = useQuery('nodes', (options) => api.list_nodes({}, options))
  const isWhole = verified.reply !== undefined
  const preview = useQuery(
    `preview ${filename} ${allowsMismatch} ${isWhole}`,
    async (options): Promise<Result<Imported | undefined>> => {
      const body = { filename, node, dry_run: true, allow_security_profile_mismatch: allowsMismatch }
      // One after the other: the broker works on one archive at a time.
      if (!isWhole) return { reply: undefined }
      const result = await whenFree(() => api.import_backup({ body }, options))
      return 'failure' in result ? result : { reply: result.reply.data }
    },
  )
  const profile = nodes.reply?.data.find((one) => one.node === node)?.security_profile
  const failure = verified.failure ?? preview.failure
  return (
    <>
      <Facts
        facts={[
          [t('fileName'), <Name key="file" text={filename} />],
          [t('profileOfFile'), verified.reply?.data.security_profile ?? '…'],
          [t('profileOfNode'), profile ?? '…'],
          [t('version'), verified.reply === undefined ? '…' : <Name text={verified.reply.data.version} />],
        ]}
      />
      {failure !== undefined && failure.kind === 'refused' && (
        <p role="alert" class="notice failed">
          {visible(textOf(failure))}
        </p>
      )}
      {preview.reply !== undefined && <Changes title={t('willChange')} outcome={preview.reply} />}
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
