#!/usr/bin/env python3
"""Steps of an MLP in JAX: all of them one compiled loop (`lax.scan`), on one ready batch.

    python bench/jax_twin.py WIDTHS BATCH STEPS THREADS      for example 32-64-64-2 64 4200 1

prints the seconds that the loop took, compiled before. Needs jax.
"""
import os
import sys
import time


def main(widths, batch, steps, threads):
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])  # before XLA makes its threads
    import jax
    import jax.numpy as jnp
    import numpy as np

    draw = np.random.default_rng(0)
    weights = [(jnp.asarray(draw.uniform(-1, 1, (a, b)) / a ** 0.5, jnp.float32), jnp.zeros(b))
               for a, b in zip(widths, widths[1:])]
    x = jnp.asarray(draw.standard_normal((batch, widths[0])), jnp.float32)
    y = jnp.asarray(draw.integers(0, widths[-1], batch))

    def loss_of(weights):
        h = x
        for i, (w, b) in enumerate(weights):
            h = h @ w + b
            if i + 1 < len(weights):
                h = jax.nn.relu(h)
        return -jax.nn.log_softmax(h)[jnp.arange(batch), y].mean()

    def step(state, _):
        """Adam, as PyTorch writes it."""
        weights, means, squares, t = state
        loss, grads = jax.value_and_grad(loss_of)(weights)
        t = t + 1
        means = jax.tree.map(lambda m, g: m + 0.1 * (g - m), means, grads)
        squares = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, squares, grads)
        rate, root = 1e-3 / (1 - 0.9 ** t), jnp.sqrt(1 - 0.999 ** t)
        weights = jax.tree.map(lambda w, m, v: w - rate * m / (jnp.sqrt(v) / root + 1e-8), weights, means, squares)
        return (weights, means, squares, t), loss

    train = jax.jit(lambda state: jax.lax.scan(step, state, length=steps))
    zeros = jax.tree.map(jnp.zeros_like, weights)
    state = (weights, zeros, zeros, jnp.float32(0))
    jax.block_until_ready(train(state))
    start = time.perf_counter()
    jax.block_until_ready(train(state))
    print(time.perf_counter() - start)


if __name__ == "__main__":
    main([int(width) for width in sys.argv[1].split("-")], *map(int, sys.argv[2:]))
