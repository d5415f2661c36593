import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { Dialog } from '../parts/dialogs.tsx'
import { FailureNotice, Page } from '../parts/page.tsx'
import { type Column, DataTable, type RowAction } from '../parts/table.tsx'
import { LocalTime } from '../parts/values.tsx'
import { api, isAllowed, formatFailure } from '../state/api.ts'
import { saveFile } from '../state/export.ts'
import { formatBytes, escapeHiddenLetters } from '../state/format.ts'
import { t } from '../state/messages.ts'
import { listMs, useQuery } from '../state/query.ts'
import { confirmBefore } from '../state/confirmations.ts'
import { showFailed, showResult } from '../state/results.ts'
import { readQueryValue } from '../state/router.ts'
import { TraceDialog } from './client-acts.tsx'

type Trace = Extract<Awaited<ReturnType<typeof api.list_traces>>, { reply: unknown }>['reply']['data'][number]

/** Characters of a trace that are shown; the whole is downloaded. */
const maxShown = 100_000

export default function Traces(): JSX.Element {
  const [isAdding, setAdding] = useState(false)
  const [shown, setShown] = useState<Shown>()
  const found = useQuery(`traces ${readQueryValue('namespace')}`, (options) => api.list_traces({}, options), listMs)
  const actions = createTraceActions(setShown, found.reload)
  return (
    <Page
      title={t('logTrace')}
      isLive={true}
      actions={
        isAllowed('create_trace') && (
          <button type="button" onClick={() => setAdding(true)}>
            {t('addTrace')}
          </button>
        )
      }
    >
      <FailureNotice failure={found.failure} onRetry={found.reload} />
      <DataTable
        caption={t('logTrace')}
        rows={found.reply?.data}
        rowKey={({ name }) => name}
        query={found}
        empty={t('noTraces')}
        columns={createTraceColumns()}
        actions={isAllowed('download_trace') ? actions : []}
      />
      {isAdding && <TraceDialog onClose={() => setAdding(false)} onDone={found.reload} />}
      {shown !== undefined && <ShownTrace shown={shown} onClose={() => setShown(undefined)} />}
    </Page>
  )
}

/** Whole ones. */
function selectLastLines(text: string): string {
  if (text.length <= maxShown) return text
  const end = text.slice(-maxShown)
  return end.slice(end.indexOf('\n') + 1)
}

interface Shown {
  readonly name: string
  readonly text: string
}

function createTraceColumns(): readonly Column<Trace>[] {
  return [
    { key: 'name', title: t('name'), value: ({ name }) => name },
    { key: 'type', title: t('type'), value: ({ type }) => type },
    { key: 'value', title: t('value'), value: (row) => row[row.type] },
    { key: 'status', title: t('state'), value: ({ status }) => status },
    {
      key: 'start_at',
      title: t('since'),
      value: (row) => row.start_at,
      render: (row) => <LocalTime text={row.start_at} />,
    },
    {
      key: 'end_at',
      title: t('until'),
      value: (row) => row.end_at,
      render: (row) => <LocalTime text={row.end_at} />,
    },
    {
      key: 'log_size',
      title: t('size'),
      value: (row) => row.log_size,
      render: (row) => formatBytes(row.log_size),
      isNumber: true,
    },
  ]
}

function createTraceActions(setShown: (shown: Shown) => void, onDone: () => void): readonly RowAction<Trace>[] {
  const show = async ({ name }: Trace): Promise<void> => {
    const text = await readTrace(name)
    if (text !== undefined) setShown({ name, text: selectLastLines(text) })
  }
  const download = async ({ name }: Trace): Promise<void> => {
    const text = await readTrace(name)
    if (text !== undefined) saveFile(`${name}.ndjson`, 'application/x-ndjson', text)
  }
  const stop = async ({ name }: Trace): Promise<void> => {
    showResult(`${t('stop')} ${name}`, await api.stop_trace({ params: { name } }))
    onDone()
  }
  const remove = ({ name }: Trace): void =>
    confirmBefore({
      title: t('deleteTitle', { name }),
      text: t('deleteTraceText'),
      act: t('delete'),
      run: async () => {
        showResult(t('deleteTitle', { name }), await api.delete_trace({ params: { name } }))
        onDone()
        return true
      },
    })
  return [
    { word: t('show'), run: (row) => void show(row) },
    {
      word: t('stop'),
      run: (row) => void stop(row),
      findDisabledReason: ({ status }) => (status === 'running' ? undefined : t('hasStopped')),
    },
    { word: t('download'), run: (row) => void download(row) },
    { word: t('delete'), run: remove, isDangerous: true },
  ]
}

function ShownTrace({ shown, onClose }: { readonly shown: Shown; readonly onClose: () => void }): JSX.Element {
  return (
    <Dialog title={t('traceTitle', { name: shown.name })} onClose={onClose}>
      <pre tabIndex={0} role="region" aria-label={t('traceTitle', { name: shown.name })}>
        {shown.text.split('\n').map(escapeHiddenLetters).join('\n')}
      </pre>
      <div class="dialog-buttons">
        <button type="button" onClick={onClose}>
          {t('close')}
        </button>
      </div>
    </Dialog>
  )
}

/** Returns undefined after a failed request, which the page reports. */
async function readTrace(name: string): Promise<string | undefined> {
  const result = await api.download_trace({ params: { name } })
  if ('reply' in result) return result.reply
  showFailed(`${t('download')} ${name}`, formatFailure(result.failure))
  return undefined
}
