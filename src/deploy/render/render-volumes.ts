// Volumes of the pods and their mounts. ConfigMaps and Secrets are mounted as directories: files mounted by subPath would not be updated.

import type { JsonObject } from '../documents/manifest-node.ts'
import type { ClusterResource } from '../read-resource.ts'
import { directories, fileNames, nameObjects, volumeNames } from '../resource/cluster-names.ts'
import { findCertificateOwner, listOpenPorts } from '../resource/open-ports.ts'
import { omitUndefined } from './kubernetes-object.ts'

/** Readable for the group of the pod only. */
const secretMode = 0o440

/** Returns the listeners whose certificates the pods need. */
function listCertificates({ spec }: ClusterResource): readonly ('mqtts' | 'wss')[] {
  const listener = spec.emqxTemplate?.listener
  const open = listOpenPorts(spec.emqxTemplate)
  const owners = new Set(
    (['mqtts', 'wss'] as const).map((port) => (open.has(port) ? findCertificateOwner(listener, port) : undefined)),
  )
  return (['mqtts', 'wss'] as const).filter((port) => owners.has(port))
}

/** Returns the volumes of the pods. */
export function renderVolumes(cluster: ClusterResource): readonly JsonObject[] {
  const { spec, metadata, settings } = cluster
  const names = nameObjects(metadata.name)
  const certificates = spec.emqxTemplate?.listener?.certificate
  const volumes: JsonObject[] = [
    ...(spec.storage === undefined ? [{ name: volumeNames.data, emptyDir: {} }] : []),
    { name: volumeNames.log, emptyDir: {} },
    { name: volumeNames.tmp, emptyDir: {} },
    { name: volumeNames.config, configMap: { name: names.config } },
    ...(settings.aclFile === undefined ? [] : [{ name: volumeNames.acl, configMap: { name: names.acl } }]),
    ...listCertificates(cluster).map((port) => {
      const secretName = certificates?.[port]?.secretName ?? names[port]
      return { name: volumeNames[port], secret: { secretName, defaultMode: secretMode } }
    }),
    {
      name: volumeNames.operator,
      secret: {
        secretName: names.operator,
        defaultMode: secretMode,
        // Without an operator there is no such Secret. The private key is not in the pods.
        optional: true,
        items: [{ key: fileNames.operatorPublicKey, path: fileNames.operatorPublicKey }],
      },
    },
    ...(spec.telegrafTemplate === undefined
      ? []
      : [{ name: volumeNames.telegraf, configMap: { name: names.telegraf } }]),
  ]
  return [...volumes, ...(spec.extraVolumes ?? [])]
}

/** Returns the mounts of the broker. */
export function renderBrokerMounts(cluster: ClusterResource): readonly JsonObject[] {
  const { spec, settings } = cluster
  const mounts: JsonObject[] = [
    { name: volumeNames.data, mountPath: directories.data },
    { name: volumeNames.log, mountPath: directories.log },
    { name: volumeNames.tmp, mountPath: directories.tmp },
    { name: volumeNames.config, mountPath: directories.config, readOnly: true },
    ...(settings.aclFile === undefined ? [] : [{ name: volumeNames.acl, mountPath: directories.acl, readOnly: true }]),
    ...listCertificates(cluster).map((port) => ({
      name: volumeNames[port],
      mountPath: directories[port],
      readOnly: true,
    })),
    { name: volumeNames.operator, mountPath: directories.operator, readOnly: true },
  ]
  const extra = (spec.extraVolumeMounts ?? []).map((mount) =>
    omitUndefined({ ...mount, readOnly: mount.readOnly ? true : undefined }),
  )
  return [...mounts, ...extra]
}

/** Returns the mounts of telegraf: it reads the log, not the data. */
export function renderTelegrafMounts(): readonly JsonObject[] {
  return [
    { name: volumeNames.telegraf, mountPath: directories.telegraf, readOnly: true },
    { name: volumeNames.log, mountPath: directories.log, readOnly: true },
  ]
}
