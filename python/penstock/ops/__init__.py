"""What a function in a pipeline may be made of: ops, with the names, defaults and numerics of tf.image and tf.io.

Here each works on one element; `registry` lists their traits.
"""
