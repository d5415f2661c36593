// A dialog with what is stored for an action: its rows, what can be done with one of them, and what with all.

import type { JSX } from 'preact'
import { Dialog } from '../parts/dialogs.tsx'
import { FailureNotice } from '../parts/page.tsx'
import { type Column, DataTable, type RowAction } from '../parts/table.tsx'
import { escapeHiddenLetters } from '../state/format.ts'
import { t } from '../state/messages.ts'
import type { Query } from '../state/query.ts'

export interface StoredResultsProps {
  /** `type:name` */
  readonly action: string
  readonly onClose: () => void
  readonly onChanged: () => void
}

interface StoredRow {
  readonly id: string
  readonly rule: string
  readonly reason: string
  readonly payload: string
}

interface StoredResultsDialogProps<Row extends StoredRow> {
  readonly action: string
  readonly title: string
  /** Text of an empty list. */
  readonly empty: string
  readonly found: Query<{ readonly data: readonly Row[] }>
  /** Before the rule, the reason and the payload. */
  readonly firstColumns: readonly Column<Row>[]
  readonly rowActions: readonly RowAction<Row>[]
  /** Undefined: the user may not change anything. */
  readonly actionOnAll: { readonly word: string; readonly run: () => void } | undefined
  readonly onClose: () => void
}

export function StoredResults<Row extends StoredRow>({
  action,
  title,
  empty,
  found,
  firstColumns,
  rowActions,
  actionOnAll,
  onClose,
}: StoredResultsDialogProps<Row>): JSX.Element {
  return (
    <Dialog title={`${title} ${escapeHiddenLetters(action)}`} isWide={true} onClose={onClose}>
      <FailureNotice failure={found.failure} onRetry={found.reload} />
      <DataTable
        caption={title}
        rows={found.reply?.data}
        rowKey={({ id }) => id}
        query={found}
        empty={empty}
        columns={[
          ...firstColumns,
          { key: 'rule', title: t('rule'), value: ({ rule }) => rule },
          { key: 'reason', title: t('reason'), value: ({ reason }) => reason },
          { key: 'payload', title: t('payload'), value: ({ payload }) => payload, canCopy: true },
        ]}
        actions={rowActions}
      />
      <div class="dialog-buttons">
        {actionOnAll !== undefined && (
          <button type="button" onClick={actionOnAll.run}>
            {actionOnAll.word}
          </button>
        )}
        <button type="button" onClick={onClose}>
          {t('close')}
        </button>
      </div>
    </Dialog>
  )
}
