import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { FormDialog } from '../parts/dialogs.tsx'
import { RouteSelect, Select, TextField, Toolbar } from '../parts/fields.tsx'
import { FailureNotice } from '../parts/page.tsx'
import { isPartOfList, NumberedPager, readPageNumber, readRowsPerPage } from '../parts/pager.tsx'
import { DataTable } from '../parts/table.tsx'
import { loadAllPages } from '../state/all-rows.ts'
import { api, type CallOptions, isAllowed, type Result, formatFailure } from '../state/api.ts'
import { escapeHiddenLetters } from '../state/format.ts'
import { t } from '../state/messages.ts'
import { listMs, useQuery } from '../state/query.ts'
import { confirmBefore } from '../state/confirmations.ts'
import { showDone, showResult } from '../state/results.ts'
import { readQueryValue } from '../state/router.ts'

const kinds = ['all', 'username', 'clientid'] as const
type Who = (typeof kinds)[number]

const listTitles = { all: 'rulesForAll', username: 'rulesOfUsers', clientid: 'rulesOfClients' } as const

interface Rule {
  readonly who: Who
  readonly name: string
  readonly topic: string
  readonly action: 'pub' | 'sub' | 'pubsub'
  readonly access: 'allow' | 'deny'
}

/** Of each of the three lists where all are shown together; one of them alone has pages. */
const maxRules = 1_000

interface RulePage {
  readonly rules: readonly Rule[]
  /** undefined: all three lists are shown. */
  readonly meta: { readonly hasnext: boolean; readonly count?: number | undefined } | undefined
}

/** The three lists, in the order in which the broker checks them. */
async function loadAllRules(options: CallOptions): Promise<Result<RulePage>> {
  const query = { limit: maxRules }
  const [byClient, byUser, all] = await Promise.all([
    api.list_acl_clientid({ query }, options),
    api.list_acl_username({ query }, options),
    api.list_acl_all({ query }, options),
  ])
  if ('failure' in byClient) return byClient
  if ('failure' in byUser) return byUser
  if ('failure' in all) return all
  return {
    reply: {
      meta: undefined,
      rules: [
        ...byClient.reply.data.map(({ clientid: name, ...rule }) => ({ who: 'clientid' as const, name, ...rule })),
        ...byUser.reply.data.map(({ username: name, ...rule }) => ({ who: 'username' as const, name, ...rule })),
        ...all.reply.data.map(({ topic, action, access }) => ({
          who: 'all' as const,
          name: '',
          topic,
          action,
          access,
        })),
      ],
    },
  }
}

const readShownPage = () => ({ page: readPageNumber(), limit: readRowsPerPage() })

/** One page of one list. */
async function loadRules(list: Who, options: CallOptions, query = readShownPage()): Promise<Result<RulePage>> {
  if (list === 'all') {
    const found = await api.list_acl_all({ query }, options)
    if ('failure' in found) return found
    const rules = found.reply.data.map(({ topic, action, access }) => ({ who: list, name: '', topic, action, access }))
    return { reply: { rules, meta: found.reply.meta } }
  }
  if (list === 'username') {
    const found = await api.list_acl_username({ query }, options)
    if ('failure' in found) return found
    const rules = found.reply.data.map(({ username: name, ...rule }) => ({ who: list, name, ...rule }))
    return { reply: { rules, meta: found.reply.meta } }
  }
  const found = await api.list_acl_clientid({ query }, options)
  if ('failure' in found) return found
  const rules = found.reply.data.map(({ clientid: name, ...rule }) => ({ who: list, name, ...rule }))
  return { reply: { rules, meta: found.reply.meta } }
}

function removeRule({ who: list, name, topic }: Rule): Promise<Result<unknown>> {
  if (list === 'clientid') return api.delete_acl_clientid({ params: { clientid: name, topic } })
  if (list === 'username') return api.delete_acl_username({ params: { username: name, topic } })
  return api.delete_acl_all({ params: { topic } })
}

export function Rules(): JSX.Element {
  const [isAdding, setAdding] = useState(false)
  const who = kinds.find((kind) => kind === readQueryValue('list'))
  const key = JSON.stringify(['rules', who, readQueryValue('namespace'), readPageNumber(), readRowsPerPage()])
  const found = useQuery(
    key,
    (options) => (who === undefined ? loadAllRules(options) : loadRules(who, options)),
    listMs,
  )
  const loadAll = async () => {
    if (who !== undefined)
      return loadAllPages(async (page) => {
        const one = await loadRules(who, {}, page)
        return 'failure' in one ? one : { reply: { data: one.reply.rules, meta: one.reply.meta } }
      })
    const result = await loadAllRules({})
    return 'failure' in result ? result : { reply: { data: result.reply.rules } }
  }
  const remove = (rule: Rule): void =>
    confirmBefore({
      title: t('deleteTitle', { name: escapeHiddenLetters(rule.topic) }),
      text: t('deleteRuleText'),
      act: t('delete'),
      run: async () => {
        showResult(t('deleteTitle', { name: rule.topic }), await removeRule(rule))
        found.reload()
        return true
      },
    })
  return (
    <>
      <Toolbar>
        <RouteSelect
          label={t('list')}
          name="list"
          options={[['', t('all')] as const, ...kinds.map((kind) => [kind, t(listTitles[kind])] as const)]}
        />
        {isAllowed('create_acl') && (
          <button type="button" onClick={() => setAdding(true)}>
            {t('add')}
          </button>
        )}
      </Toolbar>
      <FailureNotice failure={found.failure} onRetry={found.reload} />
      <DataTable
        caption={t('rules')}
        rows={found.reply?.rules}
        rowKey={({ who: list, name, topic, action }) => JSON.stringify([list, name, topic, action])}
        rowName={({ name, topic }) => `${name} ${topic}`.trim()}
        query={found}
        empty={t('noRules')}
        loadAll={loadAll}
        isPart={isPartOfList(found.reply?.meta)}
        columns={[
          { key: 'who', title: t('who'), value: ({ who }) => who },
          { key: 'name', title: t('name'), value: ({ name }) => name },
          { key: 'topic', title: t('topic'), value: ({ topic }) => topic, canCopy: true },
          { key: 'action', title: t('action'), value: ({ action }) => action },
          { key: 'access', title: t('access'), value: ({ access }) => access },
        ]}
        actions={isAllowed('create_acl') ? [{ word: t('delete'), isDangerous: true, run: remove }] : []}
      />
      {found.reply?.meta !== undefined && <NumberedPager meta={found.reply.meta} />}
      {isAdding && <RuleDialog onClose={() => setAdding(false)} onDone={found.reload} />}
    </>
  )
}

interface DialogProps {
  readonly onClose: () => void
  readonly onDone: () => void
}

function RuleDialog({ onClose, onDone }: DialogProps): JSX.Element {
  const [who, setWho] = useState<Who>('all')
  const [name, setName] = useState('')
  const [topic, setTopic] = useState('')
  const [action, setAction] = useState<Rule['action']>('pubsub')
  const [access, setAccess] = useState<Rule['access']>('allow')
  const save = async (): Promise<string | undefined> => {
    const subject = who === 'all' ? {} : { [who]: name }
    const result = await api.create_acl({ body: { ...subject, topic, action, access } })
    if ('failure' in result) return formatFailure(result.failure)
    const { data } = result.reply
    const problem = Array.isArray(data) ? undefined : data.result
    if (problem !== undefined && problem !== 'ok') return problem
    showDone(`${t('addRule')}: ${topic}`)
    onDone()
    return undefined
  }
  return (
    <FormDialog title={t('addRule')} onClose={onClose} onSave={save}>
      <Select label={t('who')} value={who} options={kinds.map((kind) => [kind, kind] as const)} onChange={setWho} />
      <TextField
        label={t('name')}
        value={who === 'all' ? '' : name}
        onInput={setName}
        isRequired={who !== 'all'}
        isDisabled={who === 'all'}
      />
      <TextField label={t('topic')} value={topic} onInput={setTopic} isRequired={true} />
      <Select
        label={t('action')}
        value={action}
        options={[
          ['pub', 'pub'],
          ['sub', 'sub'],
          ['pubsub', 'pubsub'],
        ]}
        onChange={setAction}
      />
      <Select
        label={t('access')}
        value={access}
        options={[
          ['allow', 'allow'],
          ['deny', 'deny'],
        ]}
        onChange={setAccess}
      />
    </FormDialog>
  )
}
