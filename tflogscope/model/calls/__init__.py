"""What ran for whom: steps of functions (`steps`), calls (`calls`), which functions are one Python
function (`python_functions`), and which process wrote what (`parts`, `processes`).
"""
