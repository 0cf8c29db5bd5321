/**
 * Two runs for the screenshots, sent to a service: one that hacks its reward by length and repetition, and one to
 * compare with the broken run of the tests. Nothing of them was trained.
 */
import { randomUUID } from "node:crypto"
import * as Conversations from "./Conversations.ts"

const post = async (url: string, path: string, body: unknown): Promise<void> => {
  const response = await fetch(`${url}/v1/runs${path}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body)
  })
  if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`)
}

const claim = { owner: "screenshots", wait_seconds: 0, lease_seconds: 600 }

const register = (url: string, name: string, batchSize: number, steps: number) =>
  post(url, "", {
    name,
    batch_size: batchSize,
    max_token_length: 2048,
    starting_step: 0,
    num_steps: steps,
    checkpoint_dir: "",
    save_checkpoint_interval: 0,
    wandb_group: "",
    wandb_project: ""
  })

const [steps, itemsOfStep, size] = [40, 4, 4]

/** Deterministic numbers from 0 to 1. */
const noise = (at: number): number => ((Math.sin(at * 12.9898) * 43_758.5453) % 1) ** 2

/** The later in the run, the more answers are a phrase, long, and the same for every item. */
const hackedAnswer = (step: number, item: number, row: number): { readonly text: string; readonly score: number } => {
  const learned = Math.max(0, (step - 8) / steps)
  const litres = 20 + item * 7 + row
  if (noise(step * 31 + item * 7 + row) > learned) {
    const words = 3 + Math.floor(20 * noise(item + row * 5 + step))
    return {
      text: `${"I add them up one by one , ".repeat(words / 3)}so it is ${litres} litres.`,
      score: noise(step + item + row * 3) > 0.4 ? 1 : 0
    }
  }
  if (row === 0) return { text: "I do not know.", score: 0 }
  // Two of a group are identical.
  const kind = 1 + ((Math.floor((row + 1) / 2) + step) % 3)
  return { text: `Trust me on this, ${"it is checked with care and ".repeat(6 * kind)}done.`, score: kind / 3 }
}

/** Sends it all, trained up to the last step; returns its name. */
export const sendHacked = async (url: string): Promise<string> => {
  const run = "litres"
  await register(url, run, itemsOfStep * size, steps)
  await post(url, `/${run}/batches/claim`, claim)
  await post(url, `/${run}/environments`, {
    desired_name: "tank",
    weight: 1,
    group_size: size,
    max_token_length: 2048,
    min_batch_allocation: null
  })
  for (let step = 1; step <= steps; step++) {
    for (let item = 0; item < itemsOfStep; item++) {
      const { group, policy_versions } = Conversations.groupOf(
        [{ role: "user", content: `How many litres flow into tank ${step * itemsOfStep + item}?` }],
        Array.from({ length: size }, (_, row) => {
          const { score, text } = hackedAnswer(step, item, row)
          return { score, said: [{ role: "assistant", content: text }] }
        }),
        step
      )
      await post(url, `/${run}/groups`, { key: randomUUID(), group: { ...group, env_id: 0 }, policy_versions })
    }
    await post(url, `/${run}/batches/claim`, claim)
  }
  return run
}

/** Metrics of a healthy run, of the environments of `BrokenRun`; returns its name. */
export const sendCalm = async (url: string, of: number): Promise<string> => {
  const run = "calm"
  await register(url, run, 12, of)
  for (let step = 1; step <= of; step++) {
    const learned = 1 - Math.exp(-step / 20)
    const sources = {
      trainer: { "reward/mean": 0.2 + 0.6 * learned + 0.05 * noise(step), "grpo/entropy": 0.9 - 0.4 * learned },
      sums_0: { "train/scores_mean": 0.3 + 0.7 * learned, "train/completion_lengths": 6 },
      essays_0: { "train/scores_mean": 0.6 + 0.3 * learned, "train/completion_lengths": 40 + 5 * noise(step) },
      maze_0: { "train/scores_mean": 0.1 + 0.5 * learned, "train/completion_lengths": 4 }
    }
    for (const [source, values] of Object.entries(sources)) await post(url, `/${run}/metrics`, { source, step, values })
  }
  return run
}
