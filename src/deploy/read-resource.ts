// Reads one document of a resource: its kind, its names, its fields, its rules and its settings. Nothing is thrown, whatever the document.

import { quoteValue, FaultList, type Fault } from './documents/fault-list.ts'
import { isNull, type ManifestMap, type ManifestNode } from './documents/manifest-node.ts'
import type { BackupSpec, RestoreSpec } from './resource/backup-fields.ts'
import type { ClusterSpec, ClusterSpecDraft } from './resource/cluster-fields.ts'
import { emqxGroup, ownGroup, resourceVersion } from './resource/cluster-names.ts'
import { text, type Draft } from './resource/field-types.ts'
import { annotationMap, labelMap } from './resource/kubernetes-fields.ts'
import { readField } from './resource/read-fields.ts'
import { resourceKinds, type ResourceKind } from './resource/resource-kinds.ts'
import { rulesBySubject, transitionsBySubject } from './rules/all-rules.ts'
import { checkRules, checkTransitions } from './rules/check-rules.ts'
import { planSettings, type SettingPlan } from './settings/plan-settings.ts'
import { checkCertificates, type CertificateCheck } from './certificates/check-certificates.ts'
import { warnOfCluster } from './rules/cluster-warnings.ts'

export interface ResourceMetadata {
  readonly name: string
  readonly namespace: string | undefined
  readonly labels: Readonly<Record<string, string>>
  readonly annotations: Readonly<Record<string, string>>
}

interface ResourceBase {
  /** Group of the resource. */
  readonly group: string
  readonly kind: string
  readonly metadata: ResourceMetadata
}

export interface ClusterResource extends ResourceBase {
  readonly subject: 'cluster'
  readonly spec: ClusterSpec
  readonly settings: SettingPlan
}

export interface BackupResource extends ResourceBase {
  readonly subject: 'backup'
  readonly spec: BackupSpec
}

export interface RestoreResource extends ResourceBase {
  readonly subject: 'restore'
  readonly spec: RestoreSpec
}

/** A valid resource with its defaults. */
export type Resource = ClusterResource | BackupResource | RestoreResource

export interface ReadResource {
  /** Undefined: there are faults. */
  readonly resource: Resource | undefined
  readonly faults: readonly Fault[]
  readonly warnings: readonly Fault[]
}

export interface ReadOptions {
  readonly checkCertificate: CertificateCheck
  /** The resource before a change. Faults in it are not reported. */
  readonly previous?: ManifestNode | undefined
}

/** Reads a resource and checks all of it. */
export function readResource(document: ManifestNode, options: ReadOptions): ReadResource {
  const list = new FaultList(document)
  const kind = readKind(document, list)
  if (kind === undefined || document.kind !== 'map') return { resource: undefined, ...list.sort() }
  const draft = readParts(kind, document, list)
  checkRules(rulesBySubject[kind.subject], draft, list)
  if (options.previous?.kind === 'map') checkChange(kind, draft, options.previous, list)
  const settings = kind.subject === 'cluster' ? checkCluster(draft, document, options, list) : undefined
  const { faults, warnings } = list.sort()
  const { metadata, spec } = draft
  if (faults.length > 0 || metadata?.name === undefined || spec === undefined)
    return { resource: undefined, faults, warnings }
  const named = { group: kind.group, kind: kind.kind, metadata: { ...emptyMetadata, ...metadata } as ResourceMetadata }
  const resource = { ...named, subject: kind.subject, spec, settings } as Resource
  return { resource, faults, warnings }
}

const emptyMetadata = { namespace: undefined, labels: {}, annotations: {} }

interface ResourceDraft {
  readonly metadata?: Draft<Partial<ResourceMetadata>> | undefined
  readonly spec?: object | undefined
}

/** Returns the kind that apiVersion and kind name. */
function readKind(document: ManifestNode, list: FaultList): ResourceKind | undefined {
  if (document.kind !== 'map') {
    list.addFault([], 'the document is not an object', 'write apiVersion, kind, metadata and spec')
    return undefined
  }
  const [apiVersion, kind] = ['apiVersion', 'kind'].map((field) => readScalar(document, field))
  const [group = '', version] = (apiVersion ?? '').split('/')
  const found = resourceKinds.find((one) => one.kind === kind)
  if (found === undefined) {
    const known = resourceKinds.map((one) => one.kind).join(', ')
    list.addFault(['kind'], `${quoteValue(kind ?? '')} is not a kind of this operator`, `use ${known}`)
  }
  const expected = `${found?.group ?? ownGroup}/${resourceVersion}`
  if (
    version === resourceVersion &&
    (found === undefined ? [ownGroup, emqxGroup].includes(group) : group === found.group)
  )
    return found
  list.addFault(['apiVersion'], `${quoteValue(apiVersion ?? '')} is not the version of the resource`, `use ${expected}`)
  return undefined
}

function readScalar(document: ManifestMap, field: string): string | undefined {
  const node = document.entries.get(field)
  return node?.kind === 'scalar' && typeof node.value === 'string' ? node.value : undefined
}

const metadataFields = { labels: labelMap, annotations: annotationMap }

function readParts(kind: ResourceKind, document: ManifestMap, list: FaultList): ResourceDraft {
  const { entries } = document
  for (const key of entries.keys())
    if (!['apiVersion', 'kind', 'metadata', 'spec', 'status'].includes(key))
      list.addWarning([key], 'there is no such field', 'remove it; it has no effect')
  const metadata = readMetadata(entries.get('metadata'), list)
  const node = entries.get('spec')
  if (node === undefined || isNull(node)) {
    list.addFault(['spec'], 'the field is missing', 'set it')
    return { metadata }
  }
  return { metadata, spec: readField(kind.spec, node, ['spec'], list) as object | undefined }
}

function readMetadata(node: ManifestNode | undefined, list: FaultList): Draft<Partial<ResourceMetadata>> | undefined {
  const name = node?.kind === 'map' ? node.entries.get('name') : undefined
  if (name === undefined || isNull(name))
    list.addFault(['metadata', 'name'], 'the field is missing', 'name the resource')
  if (node?.kind !== 'map') return undefined
  const metadata: Record<string, unknown> = {}
  for (const [field, part] of node.entries) {
    if (isNull(part)) continue
    const path = ['metadata', field]
    if (field === 'name' || field === 'namespace')
      metadata[field] = readField(text({ maxLength: 253 }), part, path, list)
    if (field === 'labels' || field === 'annotations')
      metadata[field] = readField(metadataFields[field], part, path, list)
  }
  return metadata
}

function checkChange(kind: ResourceKind, draft: ResourceDraft, previous: ManifestMap, list: FaultList): void {
  const ignored = new FaultList(previous)
  const old = readParts(kind, previous, ignored)
  checkTransitions(transitionsBySubject[kind.subject], draft, old, list)
  const [name, oldName] = [draft.metadata?.name, old.metadata?.name]
  if (oldName !== undefined && name !== undefined && name !== oldName)
    list.addFault(
      ['metadata', 'name'],
      `the previous resource is ${quoteValue(oldName)}`,
      'compare two versions of one resource',
    )
}

function checkCluster(
  { metadata, spec }: ResourceDraft,
  document: ManifestNode,
  { checkCertificate }: ReadOptions,
  list: FaultList,
): SettingPlan | undefined {
  if (spec === undefined) return undefined
  const draft = spec as ClusterSpecDraft
  checkCertificates(draft.emqxTemplate?.listener?.certificate, checkCertificate, list)
  warnOfCluster(draft, list)
  // Names that are too long are faults already; the settings are checked with one that is valid.
  const { name = 'name' } = metadata ?? {}
  return planSettings({ name: name.length > 63 ? 'name' : name, spec: draft, document }, list)
}
