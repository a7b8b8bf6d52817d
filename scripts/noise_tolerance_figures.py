def draw(*a):
    return ""
