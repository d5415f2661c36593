import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { Dialog } from '../parts/dialogs.tsx'
import { FailureNotice } from '../parts/page.tsx'
import { type Column, DataTable, type RowAction } from '../parts/table.tsx'
import { Time } from '../parts/values.tsx'
import { api, isAllowed, formatFailure } from '../state/api.ts'
import { t } from '../state/messages.ts'
import { listMs, useQuery } from '../state/query.ts'
import { confirmBefore } from '../state/confirmations.ts'
import { showFailed, showResult } from '../state/results.ts'
import { type Change, ChangeList, type Outcome, OutcomeView } from './configuration-changes.tsx'

type Version = Extract<
  Awaited<ReturnType<typeof api.list_configuration_history>>,
  { reply: unknown }
>['reply']['data'][number]

export function ConfigurationHistory(): JSX.Element {
  const [compared, setCompared] = useState<{ readonly number: number; readonly changes: readonly Change[] }>()
  const [outcome, setOutcome] = useState<Outcome>()
  const found = useQuery('history', (options) => api.list_configuration_history({}, options), listMs)
  const newest = found.reply?.data[0]?.number
  const compare = async ({ number }: Version): Promise<readonly Change[] | undefined> => {
    const result = await api.diff_configuration({ params: { number: String(number) } })
    if ('reply' in result) return result.reply.data.changes
    showFailed(t('compare'), formatFailure(result.failure))
    return undefined
  }
  const show = async (version: Version): Promise<void> => {
    const changes = await compare(version)
    if (changes !== undefined) setCompared({ number: version.number, changes })
  }
  const rollBack = async (version: Version): Promise<void> => {
    const changes = await compare(version)
    if (changes === undefined) return
    const title = t('rollBackTitle', { number: version.number })
    confirmBefore({
      title,
      // The comparison goes from the old version to the newest; the way back is the other way round.
      text: <ChangeList changes={changes.map(({ key, old, new: next }) => ({ key, old: next, new: old }))} />,
      act: t('rollBack'),
      run: async () => {
        const result = await api.rollback_configuration({ params: { number: String(version.number) } })
        if (showResult(title, result) && 'reply' in result) setOutcome(result.reply.data)
        found.reload()
        return true
      },
    })
  }
  const actions: readonly RowAction<Version>[] = [
    { word: t('compare'), run: (row) => void show(row) },
    {
      word: t('rollBack'),
      isDangerous: true,
      run: (row) => void rollBack(row),
      isShown: () => isAllowed('rollback_configuration'),
      findDisabledReason: ({ number }) => (number === newest ? t('isNewest') : undefined),
    },
  ]
  return (
    <>
      <FailureNotice failure={found.failure} onRetry={found.reload} />
      <DataTable
        caption={t('configurationHistory')}
        rows={found.reply?.data}
        rowKey={({ number }) => String(number)}
        query={found}
        empty={t('noVersions')}
        columns={createVersionColumns()}
        actions={actions}
      />
      {outcome !== undefined && <OutcomeView outcome={outcome} />}
      {compared !== undefined && (
        <Dialog title={t('compareTitle', { number: compared.number })} onClose={() => setCompared(undefined)}>
          <ChangeList changes={compared.changes} />
          <div class="dialog-buttons">
            <button type="button" onClick={() => setCompared(undefined)}>
              {t('close')}
            </button>
          </div>
        </Dialog>
      )}
    </>
  )
}

function createVersionColumns(): readonly Column<Version>[] {
  return [
    { key: 'number', title: t('number'), value: ({ number }) => number, isNumber: true },
    { key: 'at', title: t('time'), value: ({ at }) => at, render: ({ at }) => <Time ms={Date.parse(at)} /> },
    { key: 'by', title: t('user'), value: ({ by }) => by },
    { key: 'act', title: t('operation'), value: ({ act }) => act },
    { key: 'changed', title: t('changedKeys'), value: ({ changed }) => changed.join(', ') },
  ]
}
