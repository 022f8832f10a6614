"""A tiny Llama with random weights and a tokenizer trained on a few sentences: nothing is downloaded, nothing it says
means anything, and vLLM serves it like any other. `python make_model.py FOLDER`, in the environment that holds vLLM."""

import sys
from pathlib import Path

SENTENCES = (
    "The river runs past the house and the garden in the morning.",
    "Write a long essay about the history of paper, with at least five sections.",
    'Answer with JSON such as {"reason": "the text is clear", "score": 0.75} and nothing else.',
    "Is the response complete, correct and well written? Give a score from 0 to 10.",
    "A is better than B; B is better than A; both are bad; a tie. 0.25 0.5 0.75 1 2 3 4 5 6 7 8 9",
    "春天的早晨，河水从屋前流过。请写一篇不少于两千字的文章。",
)
TEMPLATE = (
    "{% for message in messages %}<|{{ message['role'] }}|>{{ message['content'] }}"
    "{% if not (loop.last and continue_final_message) %}<|end|>{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)
SPECIALS = ["<|end|>", "<|pad|>", "<|system|>", "<|user|>", "<|assistant|>"]


def make(folder: Path) -> None:
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=512, special_tokens=SPECIALS, initial_alphabet=pre_tokenizers.ByteLevel.alphabet()
    )
    tokenizer.train_from_iterator(SENTENCES * 20, trainer)
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<|end|>", pad_token="<|pad|>")
    fast.chat_template = TEMPLATE
    fast.save_pretrained(folder)
    torch.manual_seed(7)
    # Heads of 16 kill the engine on the CPU; 64 is the least it takes.
    config = LlamaConfig(
        vocab_size=len(fast),
        hidden_size=128,
        intermediate_size=256,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=2,
        head_dim=64,
        max_position_embeddings=4096,
        eos_token_id=fast.eos_token_id,
        pad_token_id=fast.pad_token_id,
        bos_token_id=None,
        tie_word_embeddings=False,
    )
    LlamaForCausalLM(config).save_pretrained(folder)


if __name__ == "__main__":
    make(Path(sys.argv[1]))
