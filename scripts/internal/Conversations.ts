/**
 * Conversations written for the viewer's screenshots, sent to a service as an environment would: with tokens (whole
 * words), masks, logprobs, scores and policy versions. Nothing of it was sampled from a model.
 */
import { randomUUID } from "node:crypto"
import * as PackedLogprobs from "../../packages/core/src/service/PackedLogprobs.ts"

interface Message {
  readonly role: string
  readonly [key: string]: unknown
}

interface Rollout {
  readonly said: ReadonlyArray<Message>
  readonly score: number
  readonly isCut?: boolean
}

const run = "conversations"
/** Rounds with one group of each environment, one batch each. */
const rounds = 16
const known = new Map<string, number>()

const idsOf = (text: string): ReadonlyArray<number> =>
  (text.match(/ ?[\p{L}\p{N}_]+|\n+|\s|[^\s\p{L}\p{N}_]/gu) ?? []).map((piece) => {
    const id = known.get(piece) ?? 1000 + known.size
    known.set(piece, id)
    return id
  })

/** Most words are likely, some are not; deterministic. */
const logprob = (id: number, at: number): number => -0.002 - 6 * (((id * 2654435761 + at * 40503) % 1000) / 1000) ** 6

/** Logprobs of a trainer that deviates slightly from the sampler, and strongly at a few tokens. */
const trainers = (sampled: number, at: number): number =>
  Math.min(-1e-4, sampled + 0.02 * Math.sin(at) + (at % 17 === 5 ? 0.9 * Math.sin(at * 7) : 0))

const textOf = ({ content, reasoning_content, tool_calls }: Message): string =>
  [reasoning_content, content, tool_calls]
    .map((part) => (part === undefined || part === null ? "" : typeof part === "string" ? part : JSON.stringify(part)))
    .join("\n")

export const groupOf = (asked: ReadonlyArray<Message>, rollouts: ReadonlyArray<Rollout>, policy: number) => {
  const chats = rollouts.map(({ said }) => [...asked, ...said])
  const sequences = chats.map((chat) =>
    chat.flatMap((message) => idsOf(textOf(message)).map((id) => ({ id, isTrained: message.role === "assistant" })))
  )
  const group = {
    tokens: sequences.map((tokens) => tokens.map(({ id }) => id)),
    masks: sequences.map((tokens) => tokens.map(({ id, isTrained }) => (isTrained ? id : -100))),
    scores: rollouts.map(({ score }) => score),
    inference_logprobs: sequences.map((tokens) =>
      tokens.map(({ id, isTrained }, at) => (isTrained ? logprob(id, at) : 1))
    ),
    messages: chats,
    overrides: rollouts.map(({ isCut }) => ({ finish_reason: isCut === true ? "length" : "stop" }))
  }
  return { group, policy_versions: rollouts.map((_, at) => policy - (at === 3 ? 1 : 0)) }
}

type Group = ReturnType<typeof groupOf>["group"]

const says = (content: string): ReadonlyArray<Message> => [{ role: "assistant", content }]

const mathematics = (litres: number, rate: number, policy: number) => {
  const minutes = litres / rate
  const half = litres / 2
  return groupOf(
    [
      { role: "system", content: "Think first, then give the answer in a box." },
      {
        role: "user",
        content: `A tank of $V = ${litres}$ litres is half full. Water flows in at $r = ${rate}$ litres per minute. After how many minutes is it full?`
      }
    ],
    [
      {
        score: 1,
        said: says(
          `<think>\nHalf of ${litres} is missing, that is ${half} litres.\nAt ${rate} litres per minute: ${half} / ${rate} = ${minutes / 2}.\n</think>\nThe tank holds $V = ${litres}$ litres and is half full, so this much is missing:\n\n$$\\Delta V = \\frac{V}{2} = ${half}\\ \\text{litres}$$\n\nAt a constant rate $r$ that takes\n\n$$t = \\frac{\\Delta V}{r} = \\frac{${half}}{${rate}} = ${minutes / 2}\\ \\text{minutes}$$\n\n$\\boxed{${minutes / 2}}$`
        )
      },
      {
        score: 1,
        said: says(
          `<think>\nLet me check the units: litres over litres per minute are minutes.\n</think>\n1. Missing: $${litres} - ${half} = ${half}$ litres.\n2. Time: $${half} \\div ${rate} = ${minutes / 2}$ minutes.\n\n$\\boxed{${minutes / 2}}$`
        )
      },
      {
        score: 0,
        said: says(
          `<think>\n${litres} over ${rate}.\n</think>\nThe whole tank takes $\\frac{${litres}}{${rate}} = ${minutes}$ minutes, so the answer is\n\n$\\boxed{${minutes}}$`
        )
      },
      {
        score: 0,
        isCut: true,
        said: says(
          `<think>\nIs it half full, or half empty? Half full means that half of the ${litres} litres are in it. Or does it mean that after half of the time\u2026 Let me start again. The tank holds ${litres} litres. If it is half full, then`
        )
      }
    ],
    policy
  )
}

const code = (from: number, to: number, policy: number) =>
  groupOf(
    [
      {
        role: "user",
        content: `Write a Python function \`primes(low, high)\` that returns the primes between two numbers, both included. It is tested on ${from} to ${to}.`
      }
    ],
    [
      {
        score: 1,
        said: says(
          `<think>\nA sieve up to high, then cut. Mind low below 2.\n</think>\nA sieve, cut to the range that was asked for:\n\n\`\`\`python\ndef primes(low: int, high: int) -> list[int]:\n    """Primes p with low <= p <= high."""\n    is_prime = bytearray([1]) * (high + 1)\n    is_prime[:2] = b"\\0\\0"\n    for n in range(2, int(high**0.5) + 1):\n        if is_prime[n]:\n            is_prime[n * n :: n] = bytes(len(range(n * n, high + 1, n)))\n    return [n for n in range(max(low, 2), high + 1) if is_prime[n]]\n\`\`\`\n\n| step | cost |\n| --- | --- |\n| sieve | $O(n \\log \\log n)$ |\n| cut | $O(n)$ |`
        )
      },
      {
        score: 0.8,
        said: says(
          `Trial division is enough here:\n\n\`\`\`python\ndef primes(low, high):\n    return [\n        n\n        for n in range(max(low, 2), high + 1)\n        if all(n % d for d in range(2, int(n**0.5) + 1))\n    ]\n\`\`\``
        )
      },
      {
        score: 0.2,
        said: says(
          `\`\`\`python\ndef primes(low, high):\n    found = []\n    for n in range(low, high):  # high itself is left out\n        for d in range(2, n):\n            if n % d == 0:\n                break\n        else:\n            found.append(n)\n    return found\n\`\`\``
        )
      },
      { score: 0, said: says("Use the `sympy` package: `sympy.primerange(low, high)`. It does what you ask for.") }
    ],
    policy
  )

export const tools = (city: string, people: number, policy: number) => {
  const search: Message = {
    role: "assistant",
    content: null,
    reasoning_content: "I do not know the newest figure by heart: look it up.",
    tool_calls: [
      {
        id: "call_1",
        type: "function",
        function: { name: "search", arguments: JSON.stringify({ query: `population of ${city}`, limit: 1 }) }
      }
    ]
  }
  const found: Message = {
    role: "tool",
    tool_call_id: "call_1",
    name: "search",
    content: JSON.stringify({ city, population: people, year: 2021 })
  }
  return groupOf(
    [{ role: "user", content: `How many people live in ${city}? Use the tools.` }],
    [
      {
        score: 1,
        said: [search, found, ...says(`**${people.toLocaleString("en-US")}** people lived in ${city} in 2021.`)]
      },
      { score: 1, said: [search, found, ...says(`${people} (2021).`)] },
      { score: 0, said: says(`About ${Math.round(people / 100_000) * 100_000} people live in ${city}, I believe.`) }
    ],
    policy
  )
}

export const cities = [
  ["Lyon", 522_250],
  ["Porto", 231_800],
  ["Ghent", 265_086],
  ["Bergen", 286_930]
] as const

/** Sends them; returns the ids of one group of each kind. */
export const send = async (url: string) => {
  const post = async (path: string, body: unknown): Promise<void> => {
    const response = await fetch(`${url}/v1/runs${path}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body)
    })
    if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`)
  }
  /** Delivers a batch to the trainer, which reports its logprobs of the groups and acks it. */
  const train = async (groups: ReadonlyArray<Group>, policyVersion: number): Promise<void> => {
    const claimed = await fetch(`${url}/v1/runs/${run}/batches/claim`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(claim)
    })
    const { id, lease_token: leaseToken } = (await claimed.json()) as { readonly id: string; lease_token: string }
    const rows = groups.flatMap(({ inference_logprobs, masks }, group) =>
      inference_logprobs.map((logprobs, sequence) => ({
        group,
        sequence,
        from: 0,
        logprobs: Float32Array.from(logprobs, (logprob, at) =>
          masks[sequence]![at] === -100 ? Number.NaN : trainers(logprob, at)
        )
      }))
    )
    const kept = await fetch(`${url}/v1/runs/${run}/batches/${id}/logprobs`, {
      method: "PUT",
      headers: { "content-type": "application/vnd.atropos.logprobs" },
      body: PackedLogprobs.encode({ leaseToken, policyVersion, rows }) as Uint8Array<ArrayBuffer>
    })
    if (!kept.ok) throw new Error(`logprobs of batch ${id}: ${kept.status} ${await kept.text()}`)
    await post(`/${run}/batches/${id}/ack`, { lease_token: leaseToken })
  }
  const claim = { owner: "screenshots", wait_seconds: 0, lease_seconds: 600 }
  const spec = { max_token_length: 2048, checkpoint_dir: "", save_checkpoint_interval: 0 }
  const wandb = { wandb_group: "", wandb_project: "" }
  await post("", { name: run, batch_size: 11, starting_step: 40, num_steps: 100, ...spec, ...wandb })
  await post(`/${run}/batches/claim`, claim)
  const environments = [
    ["mathematics", 4],
    ["python", 4],
    ["search", 3]
  ] as const
  for (const [desired_name, group_size] of environments) {
    const announced = { desired_name, weight: 1, group_size, max_token_length: 2048, min_batch_allocation: null }
    await post(`/${run}/environments`, announced)
  }
  for (let at = 0; at < rounds; at++) {
    const policy = 40 + at
    const [city, people] = cities[at % cities.length]!
    const groups = [
      mathematics(120 + 40 * (at % 7), [2.5, 4, 5][at % 3]!, policy),
      code(10 * at, 1000 + 10 * at, policy),
      tools(city, people, policy)
    ]
    for (const [env_id, { group, policy_versions }] of groups.entries()) {
      await post(`/${run}/groups`, { key: randomUUID(), group: { ...group, env_id }, policy_versions })
    }
    // The newest ones stay in the queue.
    if (at < rounds - 2) {
      const sent = groups.map(({ group }) => group)
      await train(sent, policy)
    }
  }
  await post(`/${run}/pieces`, { pieces: Object.fromEntries([...known].map(([piece, id]) => [id, piece])) })

  interface Page {
    readonly unindexed: number | null
    readonly rows: ReadonlyArray<{
      readonly id: string
      readonly environment: string | null
      readonly step: number | null
    }>
  }
  // Previews come with the index, a moment after the groups.
  for (;;) {
    const page = (await (await fetch(`${url}/v1/runs/${run}/rollouts?limit=1000`)).json()) as Page
    if (page.unindexed !== 0) continue
    const newest = (name: string) =>
      page.rows.find(({ environment, step }) => step !== null && environment?.startsWith(name))?.id ?? ""
    return { run, mathematics: newest("mathematics"), code: newest("python"), tools: newest("search") }
  }
}
