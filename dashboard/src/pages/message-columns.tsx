// Columns that retained and delayed messages have in common.

import type { Column } from '../parts/table.tsx'
import { formatBytes } from '../state/format.ts'
import { t } from '../state/messages.ts'

interface StoredMessage {
  readonly topic: string
  readonly qos: number
  readonly payload_bytes: number
  readonly from_clientid: string
}

export function messageColumns<Row extends StoredMessage>(): readonly Column<Row>[] {
  return [
    { key: 'topic', title: t('topic'), value: ({ topic }) => topic, canCopy: true },
    { key: 'qos', title: t('qos'), value: ({ qos }) => qos, isNumber: true },
    {
      key: 'payload_bytes',
      title: t('size'),
      value: (row) => row.payload_bytes,
      render: (row) => formatBytes(row.payload_bytes),
      isNumber: true,
    },
    { key: 'from_clientid', title: t('publisher'), value: (row) => row.from_clientid, canCopy: true },
  ]
}
