/** Describes the server by JSON Schemas of actions, observations and state, as OpenEnv's servers do. */

const metadata = (of: string) => ({
  title: "Metadata",
  type: "object",
  additionalProperties: true,
  description: `Additional metadata for the ${of}`
})

const action = {
  title: "AtroposAction",
  description: "The policy's answer.",
  type: "object",
  properties: {
    metadata: metadata("action"),
    message: { title: "Message", type: "string", description: "The policy's answer to the prompt" },
    tool_calls: {
      title: "Tool Calls",
      type: "array",
      description: "Tool calls, if the observation offers tools",
      items: {
        type: "object",
        properties: {
          id: { type: "string" },
          name: { type: "string" },
          arguments: { anyOf: [{ type: "object", additionalProperties: true }, { type: "string" }] }
        },
        required: ["name"]
      }
    }
  },
  required: ["message"],
  additionalProperties: false
}

const observation = {
  title: "AtroposObservation",
  description: "The policy's observation.",
  type: "object",
  properties: {
    done: { title: "Done", type: "boolean", default: false, description: "Whether the episode has terminated" },
    reward: {
      title: "Reward",
      anyOf: [{ type: "number" }, { type: "null" }],
      default: null,
      description: "The environment's score, at the end of the episode"
    },
    metadata: metadata("observation"),
    prompt: {
      title: "Prompt",
      anyOf: [{ type: "string" }, { type: "null" }],
      default: null,
      description: "New since the last action, as one text"
    },
    messages: {
      title: "Messages",
      type: "array",
      items: { type: "object", additionalProperties: true },
      description: "The same as messages of a chat"
    },
    chat_tools: {
      title: "Chat Tools",
      type: "array",
      items: { type: "object", additionalProperties: true },
      description: "Available tools, in the format of chat requests"
    }
  },
  additionalProperties: false
}

const state = {
  title: "State",
  type: "object",
  properties: {
    episode_id: { title: "Episode Id", anyOf: [{ type: "string" }, { type: "null" }], default: null },
    step_count: { title: "Step Count", type: "integer", minimum: 0, default: 0 }
  },
  additionalProperties: true
}

/** The body of `GET /schema`. */
export const all = { action, observation, state, reset_observation: observation }
