"""TRL's `GRPOTrainer` fed by an Atropos trajectory service.

Environments sample groups and score them; the service forms batches and hands them out under a lease; TRL trains. One
object is everything that the trainer needs:

    with AtroposRollouts("http://localhost:8000", sampler="policy+http://localhost:9004") as atropos:
        trainer = GRPOTrainer(model, args=args, peft_config=lora, **atropos.trainer_arguments(args))
        trainer.train()

Guarantees:

- One batch of the service is one generation batch of TRL, whole. It is acknowledged after the last optimizer step that
  used it (or once a checkpoint holds it: `acknowledge="checkpoint"`), and given back on any failure. A trainer that is
  killed loses no batch: the same batch is handed out again, at once to its successor with the same `output_dir`,
  otherwise when the lease has run out. A lease that passed to another trainer stops training before the update.
- The sampler's log-probabilities are in the loss. TRL drops those of a `rollout_func` unless vLLM is on, so TRL's own
  correction for vLLM (`vllm_importance_sampling_*` of `GRPOConfig`) is turned on, and every step checks that it ran.
- What TRL cannot train as it was meant is refused by name: groups that are not of `num_generations`, advantages per
  token, pictures, several sequences of one session, another temperature than TRL's, tokens the model does not have.
"""

from ._http import AtroposError
from ._rollouts import AtroposRollouts

__all__ = ["AtroposError", "AtroposRollouts"]

AtroposError.__module__ = __name__  # what a traceback calls it
