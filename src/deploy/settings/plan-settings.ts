// All settings of a cluster: the file, the arguments, and the check of both.
//
//   log and administrator < config < plugins and modules < env      lines of godwit.conf
//   ports, certificates, names                                      arguments, which have priority

import { loadConfig, type ConfigError, type GodwitConfig } from '../../config/index.ts'
import { formatAclFile, type AccessRuleList } from '../acl/acl-lines.ts'
import type { FaultList } from '../documents/fault-list.ts'
import { findLine, type ManifestNode } from '../documents/manifest-node.ts'
import { directories, ownVariables } from '../resource/cluster-names.ts'
import type { ClusterSpecDraft } from '../resource/cluster-fields.ts'
import { listOpenPorts } from '../resource/open-ports.ts'
import { hasAclFile, readFeatures } from './feature-settings.ts'
import { findListenerPort, listOwnedSettings } from './owned-settings.ts'
import { readConfigText, toDocumentLine } from './read-config-text.ts'
import { formatKey, formatReference, sortLines, type SettingLine } from './setting-lines.ts'
import { readVariables, readVariableSettings } from './variable-settings.ts'

/** Settings of a valid cluster. */
export interface SettingPlan {
  /** Text of `godwit.conf`. */
  readonly file: string
  /** Undefined: there is no file of access rules. */
  readonly aclFile: string | undefined
  /** Settings that need a restart, one a line: a change of this text changes the pods. */
  readonly restartText: string
}

export interface SettingSource {
  readonly name: string
  readonly spec: ClusterSpecDraft
  readonly document: ManifestNode
}

/** Plans the settings and checks them as `godwit config check` does. Faults and warnings are added to `list`; undefined: there are faults. */
export function planSettings({ name, spec, document }: SettingSource, list: FaultList): SettingPlan | undefined {
  const template = spec.emqxTemplate
  const variables = readVariables(spec.env)
  const configLine = findLine(document, ['spec', 'config'])
  const written = [
    ...baseLines,
    ...(spec.config === undefined ? [] : readConfigText(spec.config, variables, list, configLine)),
    ...readFeatures(template, variables, list),
    ...readVariableSettings(spec.env, variables, list),
  ]
  const ports = listOpenPorts(template)
  const lines = sortLines(
    written.filter((line) => {
      const port = findListenerPort(line.key)
      if (port === undefined || ports.has(port)) return true
      list.addWarning(
        line.origin,
        `${formatKey(line.key)} has no effect: the port ${port} is not open`,
        'remove it, or open the port',
      )
      return false
    }),
  )
  // Rules with faults cannot be formatted, and nothing is rendered then.
  const rules = list.faults.length === 0 ? (template?.acl as AccessRuleList | undefined) : []
  const aclFile = hasAclFile(template) ? formatAclFile(rules) : undefined
  const overrides = listOwnedSettings({ name, namespace: 'namespace', template, hasAclFile: aclFile !== undefined })
  const loaded = loadConfig({
    text: lines.map(({ key, checkedText }) => `${formatKey(key)} = ${checkedText}\n`).join(''),
    file: 'godwit.conf',
    overrides: overrides
      .filter((argument) => !argument.startsWith('http_server.operator_keyfile='))
      .map((argument) => argument.replace(`$(${ownVariables.podName})`, `${name}-0`)),
    readFile: () => ({ text: aclFile ?? '' }),
  })
  const report = createReporter({ lines, config: spec.config ?? '', configLine, list })
  if ('errors' in loaded) {
    for (const error of loaded.errors) report(error, (...fault) => list.addFault(...fault))
    return undefined
  }
  for (const warning of loaded.warnings) report(warning, (...fault) => list.addWarning(...fault))
  const file = formatFile(lines)
  refuseLongFiles({ config: file, acl: aclFile ?? '' }, list)
  warnOfAnonymousClients(loaded.config, list)
  warnOfSecrets(loaded.config, lines, list)
  return { file, aclFile, restartText: formatRestartText(loaded.config) }
}

/** The log on the console is that of the pod; telegraf reads the files. */
const baseLines: readonly SettingLine[] = [
  ['log.to', '[console, file]'],
  ['log.dir', JSON.stringify(directories.log)],
  ['http_server.username', formatReference(ownVariables.adminUsername, true)],
  ['http_server.password', formatReference(ownVariables.adminPassword, true)],
].map(([key = '', text = '']) => ({
  key: key.split('.'),
  text,
  checkedText: text.startsWith('$') ? 'null' : text,
  origin: ['spec'],
  lineInText: 0,
}))

function formatFile(lines: readonly SettingLine[]): string {
  return lines.map(({ key, text }) => `${formatKey(key)} = ${text}\n`).join('')
}

type Report = (path: SettingLine['origin'], message: string, hint: string, line?: number) => void

interface ReportSource {
  readonly lines: readonly SettingLine[]
  readonly config: string
  /** Line of `spec.config` in the document. */
  readonly configLine: number
  readonly list: FaultList
}

/** Reports an error in the generated file where its setting is written. */
function createReporter({
  lines,
  config,
  configLine,
  list,
}: ReportSource): (error: ConfigError, report: Report) => void {
  return ({ file, line, key, message, hint }, report) => {
    const setting = file === 'godwit.conf' ? lines[line - 1] : undefined
    const subject = key === '' ? '' : `${key}: `
    const remedy = hint === '' ? 'correct the setting' : hint
    // A consequence of fields, such as a port that is there twice: their own faults say more.
    if (setting === undefined) {
      if (list.faults.length === 0) report(['spec'], `${subject}${message}`, remedy)
    } else if (setting.lineInText === 0) report(setting.origin, `${subject}${message}`, remedy)
    else {
      const place = toDocumentLine(config, configLine, setting.lineInText)
      report(setting.origin, `line ${setting.lineInText}: ${subject}${message}`, remedy, place)
    }
  }
}

function warnOfAnonymousClients({ auth, node }: GodwitConfig, list: FaultList): void {
  if (auth.allowAnonymous === true || node.securityProfile === 'legacy') return
  const hint = 'create credentials with godwit ctl user add, or set auth.allow_anonymous = true in config'
  list.addWarning(['spec'], 'clients without a user name and password are refused', hint)
}

/** A ConfigMap has at most 1 MiB; its metadata is in it as well. */
const maxFileBytes = 1_000_000

function refuseLongFiles({ config, acl }: { readonly config: string; readonly acl: string }, list: FaultList): void {
  const files = [
    { path: ['spec', 'config'], name: 'settings', text: config },
    { path: ['spec', 'emqxTemplate', 'acl'], name: 'access rules', text: acl },
  ]
  for (const { path, name, text } of files) {
    const bytes = Buffer.byteLength(text)
    if (bytes > maxFileBytes)
      list.addFault(
        path,
        `the ${name} have ${bytes} bytes, and a ConfigMap has at most ${maxFileBytes}`,
        'write fewer of them',
      )
  }
}

/** ConfigMaps and pods can be read by more users than Secrets. */
function warnOfSecrets({ settingTexts }: GodwitConfig, lines: readonly SettingLine[], list: FaultList): void {
  for (const { key, checkedText, origin, lineInText } of lines) {
    const setting = settingTexts.get(key.join('.'))
    if (setting?.isSecret !== true || setting.isDefault || checkedText === 'null') continue
    const place = lineInText === 0 ? '' : `line ${lineInText}: `
    const hint = 'use a variable of env with secretKeyRef: its value is not in the resource'
    list.addWarning(origin, `${place}${formatKey(key)} is a secret, and its value is not in a Secret`, hint)
  }
}

function formatRestartText({ settingTexts }: GodwitConfig): string {
  return [...settingTexts]
    .filter(([, { appliesOn, hasEffect, isDefault }]) => appliesOn === 'at-restart' && hasEffect && !isDefault)
    .filter(([key]) => key !== 'node.name')
    .map(([key, { text }]) => `${key} = ${text}\n`)
    .toSorted()
    .join('')
}
