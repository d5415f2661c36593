// SQL rules with their counters.

import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { Toolbar } from '../parts/fields.tsx'
import { FailureNotice } from '../parts/page.tsx'
import { isPartOfList, NumberedPager, readPageNumber, readRowsPerPage } from '../parts/pager.tsx'
import { SwitchCell } from '../parts/switch-cell.tsx'
import { type Column, DataTable } from '../parts/table.tsx'
import type { AllRows } from '../state/all-rows.ts'
import { api, type CallOptions, isAllowed, type Result } from '../state/api.ts'
import { escapeHiddenLetters } from '../state/format.ts'
import { t } from '../state/messages.ts'
import { listMs, useQuery } from '../state/query.ts'
import { confirmBefore } from '../state/confirmations.ts'
import { showResult } from '../state/results.ts'
import { ConvertDialog, RuleDialog } from './sql-rule-dialogs.tsx'

type Replies<Name extends keyof typeof api> = Extract<
  Awaited<ReturnType<(typeof api)[Name]>>,
  { reply: unknown }
>['reply']
export type SqlRule = Replies<'get_rules'>['data'][number]
type Counters = Replies<'get_rule_metrics'>['metrics']
type Row = SqlRule & { readonly counters: Counters | undefined }

interface RulePage {
  readonly rows: readonly Row[]
  readonly meta: Replies<'get_rules'>['meta']
}

/** A page of rules, each with its counters; one that is deleted meanwhile has none. */
async function loadRulePage(page: number, limit: number, options: CallOptions): Promise<Result<RulePage>> {
  const found = await api.get_rules({ query: { page, limit } }, options)
  if ('failure' in found) return found
  const { data, meta } = found.reply
  const metrics = await Promise.all(data.map(({ id }) => api.get_rule_metrics({ params: { id } }, options)))
  const rows = data.map((rule, at) => {
    const response = metrics[at]
    return { ...rule, counters: response !== undefined && 'reply' in response ? response.reply.metrics : undefined }
  })
  return { reply: { rows, meta } }
}

/** Page by page, because the counters of each rule need a request. */
async function loadAllRules(): Promise<Result<AllRows<Row>>> {
  const data: Row[] = []
  for (let page = 1; ; page++) {
    const found = await loadRulePage(page, exportStep, {})
    if ('failure' in found) return found
    data.push(...found.reply.rows)
    if (!found.reply.meta.hasnext) break
  }
  return { reply: { data } }
}

const exportStep = 100

export function SqlRules(): JSX.Element {
  const [edited, setEdited] = useState<SqlRule | 'new'>()
  const [isConverting, setConverting] = useState(false)
  const page = readPageNumber()
  const limit = readRowsPerPage()
  const found = useQuery(`sql-rules ${page} ${limit}`, (options) => loadRulePage(page, limit, options), listMs)
  const canChange = isAllowed('change_rule')
  const remove = ({ id }: Row): void =>
    confirmBefore({
      title: t('deleteTitle', { name: escapeHiddenLetters(id) }),
      text: t('deleteSqlRuleText'),
      act: t('delete'),
      run: async () => {
        showResult(t('deleteTitle', { name: id }), await api.remove_rule({ params: { id } }))
        found.reload()
        return true
      },
    })
  const setEnabled = async ({ id, sql, actions, description }: Row, enable: boolean): Promise<void> => {
    const result = await api.change_rule({ params: { id }, body: { sql, actions, description, enable } })
    showResult(`${t(enable ? 'turnOn' : 'turnOff')} ${id}`, result)
    found.reload()
  }
  return (
    <>
      <Toolbar>
        {canChange && (
          <button type="button" onClick={() => setEdited('new')}>
            {t('addRule')}
          </button>
        )}
        <button type="button" onClick={() => setConverting(true)}>
          {t('convertRule')}
        </button>
      </Toolbar>
      <FailureNotice failure={found.failure} onRetry={found.reload} />
      <DataTable
        caption={t('rules')}
        rows={found.reply?.rows}
        rowKey={({ id }) => id}
        query={found}
        empty={t('noRules')}
        loadAll={loadAllRules}
        isPart={isPartOfList(found.reply?.meta)}
        columns={createRuleColumns(canChange, setEnabled)}
        actions={
          canChange
            ? [
                { word: t('edit'), run: setEdited },
                { word: t('delete'), isDangerous: true, run: remove },
              ]
            : []
        }
      />
      <NumberedPager meta={found.reply?.meta} />
      {edited !== undefined && (
        <RuleDialog
          rule={edited === 'new' ? undefined : edited}
          onClose={() => setEdited(undefined)}
          onDone={found.reload}
        />
      )}
      {isConverting && <ConvertDialog onClose={() => setConverting(false)} />}
    </>
  )
}

function createRuleColumns(
  canChange: boolean,
  turn: (row: Row, isOn: boolean) => Promise<void>,
): readonly Column<Row>[] {
  return [
    { key: 'id', title: t('name'), value: ({ id }) => id },
    {
      key: 'enable',
      title: t('enabled'),
      value: ({ enable }) => enable,
      render: (row) => (
        <SwitchCell name={row.id} isOn={row.enable} isDisabled={!canChange} onChange={(isOn) => void turn(row, isOn)} />
      ),
    },
    { key: 'sql', title: 'SQL', value: ({ sql }) => sql, render: ({ sql }) => <code>{escapeHiddenLetters(sql)}</code> },
    { key: 'actions', title: t('actions'), value: ({ actions }) => actions.map(formatAction).join(', ') },
    createCounterColumn('matched', t('matched')),
    createCounterColumn('passed', t('passed')),
    createCounterColumn('failed', t('failed')),
    { key: 'last_error', title: t('lastError'), value: ({ counters }) => counters?.last_error },
    { key: 'description', title: t('description'), value: ({ description }) => description },
  ]
}

function formatAction(action: SqlRule['actions'][number]): string {
  if (typeof action === 'string') return action
  if ('fallbacks' in action) return [action.action, ...action.fallbacks].map(formatAction).join(' / ')
  const topic = action.args?.['topic']
  return typeof topic === 'string' ? `${action.function} ${topic}` : action.function
}

function createCounterColumn(key: keyof Counters, title: string): Column<Row> {
  return {
    key,
    title,
    value: ({ counters }) => counters?.[key],
    isNumber: true,
  }
}
