// Validates and renders texts of resources.

import { createHash, generateKeyPairSync, randomBytes } from 'node:crypto'
import {
  readResource,
  renderCluster,
  type ClusterSecrets,
  type Fault,
  type KubernetesObject,
  type ManifestNode,
  type ReadResource,
  type Resource,
} from '../deploy/index.ts'
import { checkCertificate } from './certificate-check.ts'
import { parseManifests } from './yaml-library.ts'

export interface ValidatedText {
  /** The valid resources, in order; complete only without faults. */
  readonly resources: readonly Resource[]
  readonly faults: readonly Fault[]
  readonly warnings: readonly Fault[]
}

/** Validates one document, such as one from the API server. */
export function validateDocument(document: ManifestNode, previous?: ManifestNode): ReadResource {
  return readResource(document, { checkCertificate, previous })
}

/** Validates every document of a text. `previous`: the text before a change; documents with the same kind and name are compared. */
export function validateText(text: string, previous?: string): ValidatedText {
  const parsed = parseManifests(text)
  if ('faults' in parsed) return { resources: [], faults: parsed.faults, warnings: [] }
  const before = previous === undefined ? [] : parsePrevious(previous)
  if ('faults' in before) return { resources: [], faults: before.faults, warnings: [] }
  const known = new Map(before.map((document) => [readIdentity(document), document]))
  const read = parsed.documents.map((document) => {
    const only = before.length === 1 && parsed.documents.length === 1 ? before[0] : undefined
    return validateDocument(document, only ?? known.get(readIdentity(document)))
  })
  const duplicates = findDuplicates(parsed.documents)
  return {
    resources: read.flatMap(({ resource }) => (resource === undefined ? [] : [resource])),
    faults: [...read.flatMap(({ faults }) => faults), ...duplicates],
    warnings: read.flatMap(({ warnings }) => warnings),
  }
}

function parsePrevious(text: string): readonly ManifestNode[] | { readonly faults: readonly Fault[] } {
  const parsed = parseManifests(text)
  if ('documents' in parsed) return parsed.documents
  return { faults: parsed.faults.map((fault) => ({ ...fault, message: `previous resource: ${fault.message}` })) }
}

/** Returns kind, namespace and name as one text. */
function readIdentity(document: ManifestNode): string {
  const metadata = getBelow(document, 'metadata')
  const parts = [getBelow(document, 'kind'), getBelow(metadata, 'namespace'), getBelow(metadata, 'name')]
  return JSON.stringify(parts.map((part) => (part?.kind === 'scalar' ? part.value : null)))
}

function getBelow(node: ManifestNode | undefined, key: string): ManifestNode | undefined {
  return node?.kind === 'map' ? node.entries.get(key) : undefined
}

function findDuplicates(documents: readonly ManifestNode[]): readonly Fault[] {
  const known = new Set<string>()
  return documents.flatMap((document) => {
    const identity = readIdentity(document)
    const isDuplicate = known.has(identity)
    known.add(identity)
    if (!isDuplicate) return []
    const hint = 'give each resource its own name'
    return [{ path: 'metadata.name', line: document.line, message: 'another document is the same resource', hint }]
  })
}

export interface RenderRequest {
  readonly namespace?: string | undefined
  readonly withSecrets?: boolean | undefined
}

/** Renders the objects of all clusters among valid resources, without an owner. */
export function renderResources(resources: readonly Resource[], request: RenderRequest): readonly KubernetesObject[] {
  return resources.flatMap((resource) => {
    if (resource.subject !== 'cluster') return []
    const secrets = request.withSecrets === true ? createSecrets() : undefined
    return renderCluster(resource, { namespace: request.namespace, secrets, hashText })
  })
}

/** Returns the SHA-256 of a text in hexadecimal. */
export function hashText(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

const passwordBytes = 24

/** Creates the random Secrets of a cluster. */
export function createSecrets(): ClusterSecrets {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519', {
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
    publicKeyEncoding: { type: 'spki', format: 'pem' },
  })
  return {
    adminUsername: 'admin',
    adminPassword: randomBytes(passwordBytes).toString('base64url'),
    operatorPrivateKey: privateKey,
    operatorPublicKey: publicKey,
  }
}
