// A node of Kubernetes whose pods are real brokers: each has an address of its own on the loopback network, the files of its volumes, its arguments
// and its environment as they were rendered. Probes are asked, and a pod ends as on a node: preStop, SIGTERM, deletion.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { brokerOptions, fastStart, godwitProgram, WatchedProcess } from '../e2e/godwit-process.ts'
import { getList, getObject, getPath, toText, type JsonObject, type KubeObject } from '../kube/kube-object.ts'
import type { StoreEvent } from '../kube/object-store.ts'
import { formatTime, type ResourceOperations, type Target } from '../kube/resource-operations.ts'

const probeMs = 100

export interface ProcessKubelet {
  /** The process of the broker in a pod. */
  readonly findProcess: (podName: string) => WatchedProcess | undefined
  /** Ends all processes. */
  readonly stop: () => Promise<void>
}

interface RunningPod {
  readonly uid: string
  readonly address: string
  readonly folder: string
  process: WatchedProcess
  isEnding: boolean
}

export function startProcessKubelet(operations: ResourceOperations, root: string): ProcessKubelet {
  const kubelet = new Kubelet(operations, root)
  return { findProcess: (name) => kubelet.findProcess(name), stop: () => kubelet.stop() }
}

class Kubelet {
  readonly #operations: ResourceOperations
  readonly #root: string
  readonly #pods = new Map<string, RunningPod>()
  readonly #unsubscribe: () => void
  #lastAddress = 0
  #isStopped = false

  constructor(operations: ResourceOperations, root: string) {
    this.#operations = operations
    this.#root = root
    this.#unsubscribe = operations.store.subscribe((event) => setImmediate(() => this.#handle(event)))
  }

  findProcess(podName: string): WatchedProcess | undefined {
    return this.#pods.get(podName)?.process
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    this.#unsubscribe()
    await Promise.all(
      [...this.#pods.values()].map(async ({ process: broker }) => {
        broker.child.kill('SIGKILL')
        await broker.ended
      }),
    )
  }

  #handle({ type, resource, object }: StoreEvent): void {
    const { name, uid, deletionTimestamp } = object.metadata
    if (this.#isStopped || type === 'DELETED') return
    if (resource.kind === 'ConfigMap' || resource.kind === 'Secret') return this.#updateFiles(object)
    if (resource.kind !== 'Pod') return
    const running = this.#pods.get(name)
    if (running?.uid === uid) {
      if (deletionTimestamp !== undefined) void this.#end(object, running)
    } else if (deletionTimestamp === undefined && this.#find(object) !== undefined) this.#start(object)
  }

  #start(pod: KubeObject): void {
    this.#lastAddress += 1
    const { name, uid } = pod.metadata
    const address = `127.77.${process.pid % 250}.${this.#lastAddress}`
    const folder = join(this.#root, `${name}-${this.#lastAddress}`)
    this.#operations.update(this.#target(pod), (current) => bindToNode(current), { manager: 'kubelet' })
    this.#setStatus(pod, address, false)
    for (const volume of getList(getObject(pod, 'spec'), 'volumes')) this.#prepareVolume(pod, folder, volume)
    const running: RunningPod = {
      uid,
      address,
      folder,
      process: this.#spawn(pod, { address, folder }),
      isEnding: false,
    }
    this.#pods.set(name, running)
    void this.#watch(pod, running)
  }

  #spawn(pod: KubeObject, place: { readonly address: string; readonly folder: string }): WatchedProcess {
    const [container = {}] = getList(getObject(pod, 'spec'), 'containers')
    const environment = this.#readEnvironment(pod, container, place.address)
    const expand = (text: string): string =>
      text.replaceAll(/\$\(([A-Z_]+)\)/g, (whole, key: string) => environment[key] ?? whole)
    const args = (container['args'] as string[]).map((arg) =>
      mapPaths(expand(arg), container, place.folder).replaceAll('0.0.0.0', place.address),
    )
    // The file of settings names directories of the container, so these are arguments here.
    const own = ['--set', `log.dir="${join(place.folder, '/var/log/godwit')}"`, '--set', 'node.shards=1']
    const all = { ...process.env, ...fastStart, ...environment }
    return new WatchedProcess(process.execPath, [...brokerOptions, godwitProgram, ...args, ...own], all)
  }

  #readEnvironment(pod: KubeObject, container: JsonObject, address: string): Record<string, string> {
    const fields = {
      'metadata.name': pod.metadata.name,
      'metadata.namespace': pod.metadata.namespace ?? '',
      'status.podIP': address,
    }
    return Object.fromEntries(
      getList(container, 'env').map((variable) => {
        const field = toText(getPath(variable, '.valueFrom.fieldRef.fieldPath'))
        const secret = getPath(variable, '.valueFrom.secretKeyRef') as { name: string; key: string } | undefined
        const stored = secret && getPath(this.#read('Secret', pod, secret.name), `.data.${secret.key}`)
        const value =
          stored === undefined ? toText(variable['value']) : Buffer.from(toText(stored), 'base64').toString()
        return [toText(variable['name']), field === '' ? value : (fields[field as keyof typeof fields] ?? '')]
      }),
    )
  }

  /** Asks the readiness probe, and starts the container again when its process has ended. */
  async #watch(pod: KubeObject, running: RunningPod): Promise<void> {
    let wasReady = false
    while (!running.isEnding && !this.#isStopped && this.#find(pod)?.metadata.uid === running.uid) {
      const isReady = await this.#probe(pod, running.address)
      if (isReady !== wasReady && !running.isEnding && !this.#isStopped) this.#setStatus(pod, running.address, isReady)
      wasReady = isReady
      const { exitCode, signalCode } = running.process.child
      if ((exitCode !== null || signalCode !== null) && !running.isEnding && !this.#isStopped) {
        running.process = this.#spawn(pod, running)
      }
      await wait(probeMs)
    }
  }

  async #probe(pod: KubeObject, address: string): Promise<boolean> {
    const [container = {}] = getList(getObject(pod, 'spec'), 'containers')
    const { path, port } = getPath(container, '.readinessProbe.httpGet') as { path: string; port: string }
    const number = getList(container, 'ports').find(({ name }) => name === port)?.['containerPort']
    try {
      const response = await fetch(`http://${address}:${toText(number)}${path}`)
      await response.text()
      return response.ok
    } catch {
      // The broker has not opened its port yet, or is gone.
      return false
    }
  }

  async #end(pod: KubeObject, running: RunningPod): Promise<void> {
    if (running.isEnding) return
    running.isEnding = true
    const [container = {}] = getList(getObject(pod, 'spec'), 'containers')
    const command = (getPath(container, '.lifecycle.preStop.exec.command') as string[]).slice(1)
    const words = command.map((word) => mapPaths(word, container, running.folder))
    await once(spawn(process.execPath, [godwitProgram, ...words], { stdio: 'ignore' }), 'close')
    running.process.child.kill('SIGTERM')
    await running.process.ended
    this.#pods.delete(pod.metadata.name)
    if (this.#find(pod)?.metadata.uid === running.uid)
      this.#operations.delete(this.#target(pod), { gracePeriodSeconds: 0 })
  }

  #setStatus(pod: KubeObject, podIP: string, isReady: boolean): void {
    const conditions = [
      { type: 'Ready', status: isReady ? 'True' : 'False', lastTransitionTime: formatTime(new Date()) },
    ]
    const status = { phase: 'Running', podIP, conditions }
    if (this.#find(pod)?.metadata.uid !== pod.metadata.uid) return
    this.#operations.update(this.#target(pod), (current) => ({ ...current, status }), {
      manager: 'kubelet',
      subresource: 'status',
    })
  }

  #prepareVolume(pod: KubeObject, folder: string, volume: JsonObject): void {
    const path = findPlace(pod, folder, volume)
    const claim = getPath(volume, '.persistentVolumeClaim.claimName')
    if (claim === undefined) mkdirSync(path, { recursive: true })
    else {
      mkdirSync(join(this.#root, toText(claim)), { recursive: true })
      mkdirSync(dirname(path), { recursive: true })
      symlinkSync(join(this.#root, toText(claim)), path)
    }
    const files = this.#readVolumeFiles(pod, volume)
    if (files !== undefined) swapFiles(path, files)
  }

  #readVolumeFiles(pod: KubeObject, volume: JsonObject): Record<string, Buffer> | undefined {
    const map = getPath(volume, '.configMap.name')
    const secret = getPath(volume, '.secret.secretName')
    if (map === undefined && secret === undefined) return undefined
    const source =
      map === undefined ? this.#read('Secret', pod, toText(secret)) : this.#read('ConfigMap', pod, toText(map))
    const items = (getPath(volume, map === undefined ? '.secret.items' : '.configMap.items') ?? []) as {
      key: string
      path: string
    }[]
    const encoding = map === undefined ? 'base64' : 'utf8'
    const data = Object.entries((source?.['data'] ?? {}) as { [key: string]: string })
    return Object.fromEntries(
      data.flatMap(([key, value]) => {
        const path = items.length === 0 ? key : items.find((item) => item.key === key)?.path
        return path === undefined ? [] : [[path, Buffer.from(value, encoding)]]
      }),
    )
  }

  /** A changed ConfigMap or Secret reaches the volumes of running pods. */
  #updateFiles(source: KubeObject): void {
    for (const [name, { folder, isEnding }] of this.#pods) {
      const pod = this.#read('Pod', source, name)
      if (pod === undefined || isEnding) continue
      for (const volume of getList(getObject(pod, 'spec'), 'volumes')) {
        const used = getPath(volume, source.kind === 'Secret' ? '.secret.secretName' : '.configMap.name')
        const files = used === source.metadata.name ? this.#readVolumeFiles(pod, volume) : undefined
        if (files !== undefined) swapFiles(findPlace(pod, folder, volume), files)
      }
    }
  }

  #read(kind: string, { metadata }: KubeObject, name: string): KubeObject | undefined {
    return this.#operations.store.get(this.#operations.getKind(kind), metadata.namespace ?? '', name)
  }

  #find(pod: KubeObject): KubeObject | undefined {
    return this.#read('Pod', pod, pod.metadata.name)
  }

  #target({ metadata }: KubeObject): Target {
    return { type: this.#operations.getKind('Pod'), namespace: metadata.namespace ?? '', name: metadata.name }
  }
}

function bindToNode(pod: KubeObject): unknown {
  return { ...pod, spec: { ...getObject(pod, 'spec'), nodeName: 'node-1' } }
}

/** Returns the directory of a volume: the path of its mount, below the folder of the pod. */
function findPlace(pod: KubeObject, folder: string, volume: JsonObject): string {
  const [container = {}] = getList(getObject(pod, 'spec'), 'containers')
  const mount = getList(container, 'volumeMounts').find(({ name }) => name === volume['name'])
  return join(folder, toText(mount?.['mountPath'] ?? volume['name']))
}

/** Replaces the path of a mount by the directory of its volume; the longest first. */
function mapPaths(text: string, container: JsonObject, folder: string): string {
  const mounts = getList(container, 'volumeMounts').toSorted(
    (a, b) => toText(b['mountPath']).length - toText(a['mountPath']).length,
  )
  const found = mounts.find(({ mountPath }) => text.includes(toText(mountPath)))
  return found === undefined
    ? text
    : text.replaceAll(toText(found['mountPath']), join(folder, toText(found['mountPath'])))
}

let lastVersion = 0

/** Replaces all files of a volume at once: `..data` names another folder. */
function swapFiles(folder: string, files: Readonly<Record<string, Buffer>>): void {
  lastVersion += 1
  const version = `..version-${lastVersion}`
  mkdirSync(join(folder, version), { recursive: true })
  for (const [name, content] of Object.entries(files)) {
    writeFileSync(join(folder, version, name), content)
    rmSync(join(folder, name), { force: true })
    symlinkSync(join('..data', name), join(folder, name))
  }
  symlinkSync(version, join(folder, '..next'))
  renameSync(join(folder, '..next'), join(folder, '..data'))
}
