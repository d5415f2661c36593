// Columns that several lists have in common.

import type { Column } from '../parts/table.tsx'
import { Name } from '../parts/values.tsx'
import { formatBytes } from '../state/format.ts'
import { t } from '../state/messages.ts'
import { formatLink } from '../state/router.ts'

/** The identifier, as a link to the page of the client. */
export function createClientColumn<Row extends { readonly clientid: string }>(title = t('clientId')): Column<Row> {
  return {
    key: 'clientid',
    canCopy: true,
    title,
    value: ({ clientid }) => clientid,
    render: ({ clientid }) =>
      clientid === '' ? null : (
        <a href={formatLink(['clients', clientid])}>
          <Name text={clientid} />
        </a>
      ),
  }
}

interface StoredMessage {
  readonly topic: string
  readonly qos: number
  readonly payload_bytes: number
  readonly from_clientid: string
}

export function createMessageColumns<Row extends StoredMessage>(): readonly Column<Row>[] {
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
