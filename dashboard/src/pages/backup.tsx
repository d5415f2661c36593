// Backup and Restore: files of the backup directory. A list entry has the path of a file, not its content.

import type { JSX } from 'preact'
import { useRef, useState } from 'preact/hooks'
import { FailureNotice, Page } from '../parts/page.tsx'
import { isPartOfList, NumberedPager, readPageNumber, readRowsPerPage } from '../parts/pager.tsx'
import { DataTable, type RowAction } from '../parts/table.tsx'
import { Name, Time } from '../parts/values.tsx'
import { NamespaceSelect } from '../shell/namespace-select.tsx'
import { loadAllPages } from '../state/all-rows.ts'
import { api, isAllowed, formatFailure } from '../state/api.ts'
import { saveFile } from '../state/export.ts'
import { formatBytes, escapeHiddenLetters } from '../state/format.ts'
import { t } from '../state/messages.ts'
import { listMs, useQuery } from '../state/query.ts'
import { confirmBefore } from '../state/confirmations.ts'
import { showFailed, showResult } from '../state/results.ts'
import { namespaceInRoute, readQueryValue } from '../state/router.ts'
import { isAdministrator, session } from '../state/login-session.ts'
import { RestoreDialog } from './restore.tsx'

type Listed = Extract<Awaited<ReturnType<typeof api.get_backup_files>>, { reply: unknown }>['reply']
export type BackupFile = Listed['data'][number]

const msPerSecond = 1_000

export default function Backup(): JSX.Element {
  const [restored, setRestored] = useState<BackupFile>()
  const query = { page: readPageNumber(), limit: readRowsPerPage() }
  const key = JSON.stringify(['backups', query, readQueryValue('namespace')])
  const found = useQuery(key, (options) => api.get_backup_files({ query }, options), listMs)
  const actions = createFileActions(setRestored, found.reload)
  return (
    <Page title={t('backup')} isLive={true}>
      <BackupScope />
      {isAdministrator.value && <Buttons onDone={found.reload} />}
      <FailureNotice failure={found.failure} onRetry={found.reload} />
      <DataTable
        caption={t('backupFiles')}
        rows={found.reply?.data}
        rowKey={({ filename }) => filename}
        query={found}
        empty={t('noBackups')}
        loadAll={() => loadAllPages((page) => api.get_backup_files({ query: page }))}
        isPart={isPartOfList(found.reply?.meta)}
        columns={[
          { key: 'filename', title: t('fileName'), value: ({ filename }) => filename },
          { key: 'node', title: t('nodeName'), value: ({ node }) => node },
          {
            key: 'created_at',
            title: t('createdAt'),
            value: (row) => row.created_at,
            render: (row) => <Time ms={row.created_at_sec * msPerSecond} />,
          },
          {
            key: 'size',
            title: t('fileSize'),
            value: ({ size }) => size,
            render: ({ size }) => formatBytes(size),
            isNumber: true,
          },
        ]}
        actions={isAdministrator.value ? actions : []}
      />
      <NumberedPager meta={found.reply?.meta} />
      {restored !== undefined && (
        <RestoreDialog file={restored} onClose={() => setRestored(undefined)} onDone={found.reload} />
      )}
    </Page>
  )
}

/** Namespace of the files. A global administrator can select it; for other accounts it is fixed. */
function BackupScope(): JSX.Element | null {
  const own = session.value?.namespace
  if (own !== undefined) {
    return (
      <p>
        {t('namespace')} <Name text={own} />
      </p>
    )
  }
  if (!isAdministrator.value || !isAllowed('get_namespaces')) return null
  return (
    <div class="toolbar">
      <NamespaceSelect />
    </div>
  )
}

function Buttons({ onDone }: { readonly onDone: () => void }): JSX.Element {
  const [busy, setBusy] = useState<'export' | 'upload'>()
  const input = useRef<HTMLInputElement>(null)
  const namespace = session.value?.namespace ?? namespaceInRoute.value
  const create = async (): Promise<void> => {
    setBusy('export')
    const result = await api.export_backup()
    setBusy(undefined)
    showResult('reply' in result ? `${t('create')} ${result.reply.filename}` : t('create'), result)
    onDone()
  }
  const upload = async (file: File | undefined): Promise<void> => {
    if (file === undefined) return
    setBusy('upload')
    const result = await api.upload_backup_file({ body: { filename: file.name, content: file } })
    setBusy(undefined)
    if (input.current !== null) input.current.value = ''
    showResult(`${t('upload')} ${file.name}`, result)
    onDone()
  }
  const whyNot = namespace === undefined ? undefined : t('createOnlyGlobal')
  return (
    <div class="toolbar">
      <button
        type="button"
        disabled={whyNot !== undefined || busy !== undefined}
        title={whyNot}
        onClick={() => void create()}
      >
        {t('create')}
      </button>
      <button type="button" disabled={busy !== undefined} onClick={() => input.current?.click()}>
        {t('upload')}
      </button>
      <input
        ref={input}
        type="file"
        hidden={true}
        accept=".tar.gz,.gz"
        aria-label={t('uploadFile')}
        onChange={(event) => void upload(event.currentTarget.files?.[0])}
      />
      {busy === 'upload' && <span role="status">{t('uploading')}</span>}
      {busy === 'export' && <Progress />}
    </div>
  )
}

const progressMs = 500

/** Progress of an export, import, verification or comparison. */
export function Progress(): JSX.Element {
  const found = useQuery('progress', (options) => api.get_backup_progress({}, options), progressMs)
  const now = found.reply?.data
  return (
    <span role="status">
      {now === null || now === undefined
        ? t('working')
        : t('progress', { part: now.part, done: now.done, total: now.total ?? '?' })}
    </span>
  )
}

function createFileActions(restore: (file: BackupFile) => void, onDone: () => void): readonly RowAction<BackupFile>[] {
  const download = async ({ filename, node }: BackupFile): Promise<void> => {
    const result = await api.download_backup_file({ params: { filename }, query: { node } })
    if ('failure' in result) showFailed(`${t('download')} ${filename}`, formatFailure(result.failure))
    else saveFile(filename, 'application/gzip', await result.reply.blob())
  }
  const remove = ({ filename, node }: BackupFile): void =>
    confirmBefore({
      title: t('deleteBackup'),
      text: <Name text={filename} />,
      act: t('delete'),
      run: async () => {
        const result = await api.delete_backup_file({ params: { filename }, query: { node } })
        showResult(`${t('deleteBackup')} ${escapeHiddenLetters(filename)}`, result)
        onDone()
        return true
      },
    })
  return [
    { word: t('download'), run: (file) => void download(file) },
    { word: t('restore'), run: restore, isDangerous: true },
    { word: t('delete'), run: remove, isDangerous: true },
  ]
}
